-- One row changed by its key, in place: no index is touched. A moment without its fraction would
-- often be the one that is there already, and the server would then change nothing.
\set id random(1, 100000 * :scale)
update tbl set crt_time = now(6) where id = :id;
