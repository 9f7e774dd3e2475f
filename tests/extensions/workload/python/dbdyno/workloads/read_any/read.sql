\set id random(1, 1000 * :scale)
select id from anything where id = :id;
