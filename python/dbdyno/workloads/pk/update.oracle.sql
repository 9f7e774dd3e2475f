-- One row changed by its key, in place: no index is touched.
\set id random(1, 100000 * :scale)
update tbl set crt_time = systimestamp where id = :id;
