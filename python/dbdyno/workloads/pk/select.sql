-- One row by its key.
\set id random(1, 100000 * :scale)
select * from tbl where id = :id;
