\set id random(1, 20000)
update planted set value = value + 1 where id = :id;
