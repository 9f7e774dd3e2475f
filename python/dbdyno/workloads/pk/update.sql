-- One row changed by its key; no index is touched, so the update may be HOT.
\set id random(1, 100000 * :scale)
update tbl set crt_time = now() where id = :id;
