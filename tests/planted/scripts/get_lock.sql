\set id random(1, 20000)
select get_lock('one', 10);
update planted set value = value + 1 where id = :id;
select release_lock('one');
