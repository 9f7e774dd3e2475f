\set id random(1, 400000)
select count(filler) from generate_series(1, 50) i join planted on id = (:id + i * 7919) % 400000 + 1;
