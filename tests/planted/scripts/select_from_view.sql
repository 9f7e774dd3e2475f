\set id random(1, 20000)
select value from planted_view where id = :id;
