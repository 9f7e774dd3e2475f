\set id random(1, 100000)
update planted set value = value + 1 where id = :id;
