select count(*) from (select filler, id from planted order by filler, id desc offset 0) as sorted;
