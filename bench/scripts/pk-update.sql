\set id random(1, 100000 * :scale)
update tbl set crt_time = now() where id = :id;
