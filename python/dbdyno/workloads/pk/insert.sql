-- One row more, numbered by the sequence.
insert into tbl (info) values ('hello world');
