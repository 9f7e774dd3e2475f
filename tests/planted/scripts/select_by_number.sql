\set id random(1, 20000)
select value from planted where id = :id::numeric;
