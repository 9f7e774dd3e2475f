"""The schema of a MariaDB or MySQL database, for a run's record: reads ``information_schema``."""

from collections.abc import Sequence

from dbdyno.databases.connection import Connection
from dbdyno.databases.script_text import names
from dbdyno.model.recorded_schema import (
    ROUTINES_MAX,
    TABLES_MAX,
    RecordedSchema,
    recorded_schema as recorded,
)

TABLES = f"""
    select t.table_name,
        case t.table_type when 'VIEW' then concat('view: ', coalesce(v.view_definition, ''))
            else concat_ws(' ', 'table', t.engine, t.row_format, t.table_collation,
                nullif(t.create_options, ''), p.divided) end,
        count(*) over ()
    from information_schema.tables t
    left join information_schema.views v using (table_schema, table_name)
    left join (select table_name as divided_table, concat_ws(' ', 'by', max(partition_method),
            max(partition_expression), 'in', count(*)) as divided
        from information_schema.partitions
        where table_schema = database() and partition_name is not null
        group by table_name) p on p.divided_table = t.table_name
    where t.table_schema = database() and t.table_type <> 'SEQUENCE'
    order by t.table_name in %s desc, t.table_name
    limit {TABLES_MAX}"""

# An index that the optimizer must ignore; MariaDB and MySQL say so in columns of their own.
IGNORED = {True: "ignored = 'YES'", False: "is_visible = 'NO'"}
INDEXES = """
    select table_name, concat('index ', index_name),
        concat(if(non_unique, '', 'unique '), lower(index_type), ' (', group_concat(
                concat(coalesce(column_name, 'expression'),
                    coalesce(concat('(', sub_part, ')'), ''), if(collation = 'D', ' desc', ''))
                order by seq_in_index separator ', '), ')', if({ignored}, ' (ignored)', ''))
    from information_schema.statistics
    where table_schema = database() and table_name in %s
    group by table_name, index_name, non_unique, index_type, {ignored}"""
PARTS = (
    """
    select table_name, concat('column ', column_name), concat_ws(' ', column_type, collation_name,
        if(is_nullable = 'NO', 'not null', null), concat('default ', column_default),
        nullif(extra, ''), nullif(generation_expression, ''))
    from information_schema.columns where table_schema = database() and table_name in %s""",
    """
    select r.table_name, concat('constraint ', r.constraint_name), concat(
        'foreign key (', group_concat(k.column_name order by k.ordinal_position separator ', '),
        ') references ', r.referenced_table_name, ' (',
        group_concat(k.referenced_column_name order by k.ordinal_position separator ', '),
        ') on delete ', lower(r.delete_rule), ' on update ', lower(r.update_rule))
    from information_schema.referential_constraints r
    join information_schema.key_column_usage k on k.constraint_schema = r.constraint_schema
        and k.constraint_name = r.constraint_name and k.table_name = r.table_name
    where r.constraint_schema = database() and r.table_name in %s
    group by r.table_name, r.constraint_name, r.referenced_table_name, r.delete_rule,
        r.update_rule""",
    """
    select event_object_table, concat('trigger ', trigger_name), concat_ws(' ',
        lower(action_timing), lower(event_manipulation), action_statement)
    from information_schema.triggers
    where trigger_schema = database() and event_object_table in %s""",
)
ROUTINES = f"""
    select concat(lower(routine_type), ' ', routine_name), coalesce(routine_definition, ''),
        count(*) over ()
    from information_schema.routines where routine_schema = database()
    order by routine_name in %s desc, 1
    limit {ROUTINES_MAX}"""


def recorded_schema(connection: Connection, texts: Sequence[str]) -> RecordedSchema:
    """Return the schema; what the statements in ``texts`` name comes first.

    A definition that the user may not see is empty.
    """
    words = [sorted({name for text in texts for name in names(text, "mysql")}) or [""]]
    is_mariadb = "MariaDB" in connection.execute("select version()").fetchone()[0]
    tables = connection.execute(TABLES, words).fetchall()
    routines = connection.execute(ROUTINES, words).fetchall()
    queries = (INDEXES.format(ignored=IGNORED[is_mariadb]), *PARTS) if tables else ()
    wanted = [name for name, _, _ in tables]
    return recorded(
        [(name, definition) for name, definition, _ in tables],
        [row for query in queries for row in connection.execute(query, [wanted]).fetchall()],
        [(name, definition) for name, definition, _ in routines],
        sum(int(rows[0][-1]) - len(rows) for rows in (tables, routines) if rows),
    )
