begin;
update planted set value = value + 1 where id = 1;
update planted set value = value + 1 where id = 2;
commit;
