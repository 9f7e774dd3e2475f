select count(*) from (select filler, id from planted order by filler, id desc limit 1000000) as sorted;
