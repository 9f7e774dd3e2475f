\set id random(1, 50)
update planted set value = value + 1 where id = :id;
