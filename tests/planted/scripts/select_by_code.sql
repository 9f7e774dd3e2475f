\set code random(1, 20000)
select value from planted where code = :code;
