"""What the functions of MariaDB and MySQL are for, by the folders of their source trees.

InnoDB's functions begin with the name of their folder (``btr_``, ``buf_``). Distributions of
MariaDB leave these no names: their functions are then known by the source file that they or their
neighbours mention (``btr/btr0cur.cc``), and only what mentions none as well is the storage
engine's as a whole. Folders follow each other in the binary: what mentions nothing, next to a file
that hardly runs under a load, is of a folder without mentions beside it. So ``srv0start`` and
``trx0i_s`` stand around the locks of ``sync``, ``os0file`` before the search within pages, and
``ha_partition.cc`` before the performance schema.
"""

from dbdyno.model.database import Subsystems

SUBSYSTEMS: Subsystems = {
    "protocol": (
        "thd_increment thd_get_ha_data thd_set_ha_data thd_kill_level thd_wait_ thd_proc_info "
        "Statement:: Statement_map Send_field set_statement run_set_statement Query_cache "
        "query_cache mysql_audit_ Warning_info check_stack_overrun stmt_causes _current_thd "
        "current_thd thd_query Security_context alloc_query Item_change ~{virtual Protocol net_ "
        "my_net_ vio_ dispatch_command do_command do_handle_one_connection handle_one_connection "
        "THD:: Diagnostics_area Select_fetch_protocol select_send threadpool_ tp_ Worker_thread "
        "mysql_execute_command mysql_reset_thd Prepared_statement mysqld_stmt_execute "
        "mysql_stmt_execute mysql_sql_stmt_execute Query_arena reinit_stmt_before_use "
        "Ed_connection server_ sp_lex_keeper log_slow_statement Channel_info Connection_handler "
        "my_real_read is_supported_parser_charset"
    ),
    "parsing": (
        "setup_ftfuncs setup_semijoin unpack_to_base_table mysql_handle_derived "
        "mysql_handle_single_derived setup_jtbm Name_resolution resolve_ Create_json_table "
        "~parser/ MYSQLparse ORAparse my_sql_parser_parse lex_one_token Lex_ LEX:: lex_ "
        "st_select_lex SELECT_LEX Query_block Query_expression mysql_parse parse_sql "
        "get_hash_symbol mysqld_stmt_prepare setup_fields setup_tables setup_conds setup_order "
        "setup_wild find_field_in fix_fields fix_inner PT_ sql_yacc THD::sql_parser "
        "compute_digest digest_add_token query_rewrite mysql_new_select handle_query "
        "Sql_cmd_dml::prepare"
    ),
    "planning": (
        "setup_windows setup_degenerate append_possible_keys check_simple_equality setup_group "
        "setup_end_select_func Range_rowid pull_out_semijoin check_and_do_in first_linear_tab "
        "next_linear_tab first_explain first_top_level next_top_level first_depth_first "
        "next_depth_first first_breadth count_cond_for_nj find_select_handler "
        "find_derived_handler POSITION make_select rewrite_to_index cleanup_empty "
        "check_join_cache sort_and_filter fix_semijoin get_delayed_table eliminate_tables "
        "set_position simple_remove destroy_sj create_explain reset_nj restore_prev advance_sj "
        "convert_join set_join_cache uses_index_fields check_interleaving sel_arg_range Range_ "
        "get_range_limit is_key_used and_all_keys key_and key_or tree_and tree_or st_join_table "
        "JOIN::optimize JOIN::prepare JOIN::make JOIN::get_best JOIN::choose JOIN::init "
        "JOIN::add_keyuse JOIN::estimate JOIN::reoptimize JOIN::save_explain JOIN:: SQL_SELECT "
        "best_access_path make_join get_best_ choose_plan greedy_search update_ref_and_keys "
        "SEL_ARG SEL_TREE SEL_IMERGE get_mm_ TRP_ Item_equal build_equal_items Opt_trace "
        "Optimize_table_order test_quick_select get_quick_keys get_key_scans check_quick_select "
        "matching_candidates_in_table cost_ create_ref_for_key make_cond simplify_joins "
        "optimize_cond propagate_cond read_statistics_for_tables calculate_cond_selectivity "
        "substitute_ sort_keyuse add_key_ records_in_range handler::multi_range_read_info "
        "handler::keyread_time ha_innobase::records_in_range ha_innobase::scan_time "
        "ha_innobase::read_time btr_estimate join_read_const_table Explain_ optimize_ Cost_ "
        "Key_use Item_bool_func::get_mm"
    ),
    "partitions": (
        "ha_partition partition_ prune_partitions part_ get_partition get_part Partition_"
    ),
    "execution": (
        "~heap/ heap_ end_read_record handle_select free_field_buffers Create_tmp_table "
        "create_tmp unpack_ init_read_ JOIN_CACHE SplM Rowid_filter JOIN::exec do_select "
        "sub_select evaluate_join_record end_send end_update end_write handler:: ha_ rr_ "
        "join_read join_init join_ READ_RECORD read_record mysql_update mysql_insert "
        "mysql_delete mysql_select fill_record write_record Write_record Sql_cmd_ QUICK_ "
        "Unique_on Table_iterator Index QuickRangeIterator RefIterator FilterIterator "
        "NestedLoopIterator LimitOffset Iterator Query_result check_unique_constraint "
        "compare_record store_key cp_buffer_from_ref init_read_record quick_range DsMrr_ Mrr_ "
        "select_result Copy_field Temp_table_param"
    ),
    "values": (
        "DTCollation aggregate_for Type_collection Type_ Charset_ Sql_mode Item Field "
        "Type_handler String:: Binary_string my_charset my_strn my_hash_sort my_well_formed "
        "my_numchars my_charpos my_lengthsp my_mb my_ismbchar my_casedn my_caseup my_wildcmp "
        "my_like my_uca my_strcasecmp my_scan my_copy my_long10 my_longlong10 my_int10 "
        "my_strtoll my_strntol my_decimal decimal_ decimal2 do_ copy_and_convert my_convert "
        "Cmp_splocal Arg_comparator cmp_item Time Date Datetime my_time number_to TIME_ my_fcvt "
        "my_gcvt dtoa my_dtoa json_ Json_ ull2dec bin2decimal key_cmp key_copy key_restore "
        "well_formed Charset my_uni Aggregator"
    ),
    "procedures": "sp_ sp_head sp_instr sp_rcontext UDF udf_",
    "triggers": (
        "Table_triggers_list Trigger row_ins_check_foreign row_ins_foreign "
        "row_upd_check_references dict_foreign fk_"
    ),
    "indexes": "~os/ ~btr/ ~ibuf/ ~gis/ ~fts/ btr_ ibuf_ rtr_ fts_ gis_ page_cur_ AHI",
    "rows": (
        "~row/ ~page/ ~rem/ ~data/ ~handler/ ~que/ ~eval/ ~pars/ ~lob/ row_ rec_ page_ Cell mem_ "
        "tab_page cmp_data cmp_dtuple cmp_rec dtuple_ dfield_ lob:: ha_innobase:: innobase_ "
        "innodb_ ha_innodb que_ eval_ pars_"
    ),
    "buffers": (
        "~my_virtual_mem_protect ~crc32_ ~buf/ ~fil/ ~fsp/ ~fut/ buf_ fil_ fsp_ fseg_ flst_ fut_ "
        "os_file os_aio fil_space Fil_ tpool:: io_ Buf_ BUF_ LRU_"
    ),
    "storage_engine": (
        "~srv/ ~ut/ ~ha/ ~maria/ ~myisam/ ~innobase/ ~_start ~Wsrep_ ~wsrep_ ~tpool:: "
        "~simulated_aio ~std:: ~bool ~void ~fil_ ~ut_ ~unbind"
    ),
    "locks": (
        "mysql_unlock_ ~lock/ get_lock_data mdl_ unlock_external MDL_ lock_ Lock_ locksys "
        "Locksys thr_lock thr_multi_lock mysql_lock lock_external lock_table THR_LOCK wt_ "
        "DeadlockChecker Deadlock"
    ),
    "internal_locks": (
        "~srv/srv0start ~trx/trx0i_s ~sync/ srw_ ssux_ sux_ rw_lock sync_ mutex_ os_event "
        "ut_delay PolicyMutex TTASEventMutex TTASMutex inline_mysql_mutex my_mutex rw_pr_ "
        "mysql_prlock psi_mutex psi_rwlock"
    ),
    "transactions": (
        "~trx/ trx_ ha_commit ha_rollback trans_ innobase_commit innobase_rollback trx_t TC_LOG "
        "XID xa_ undo_ Rsegs trx_undo TrxInInnoDB"
    ),
    "snapshots": "~read/ ReadView read_view MVCC trx_sys trx_sys_t row_vers_ view_",
    "log": "~log/ ~mtr/ log_ mtr_ mtr_t recv_ log_t Log_ redo_ ut_crc32 crc32c my_crc32c",
    "catalog": (
        "~dict/ Open_table_context get_table_def_key Open_table_ mysql_opt_change_db "
        "mysql_change_db DML_prelocking open_table open_tables open_and_lock close_thread_table "
        "close_tables tdc_ tc_ TABLE TABLE_SHARE TABLE_LIST dict_ check_access check_grant "
        "check_table_access acl_get table_cache_ Table_cache get_table_share release_table_share "
        "dd:: Dictionary mysql_ha_ table_def intern_sys_var find_sys_var sys_var "
        "get_column_grant"
    ),
    "hash_tables": "my_hash lf_ LF_ my_hash_search lf_hash ut_hash hash_table",
    "memory": (
        "~mem/ free_items my_malloc my_free my_realloc alloc_root free_root multi_alloc "
        "reset_root MEM_ROOT mem_heap root_alloc strdup_root memdup_root strmake_root "
        "ut_allocator my_multi_malloc [libjemalloc init_alloc_root claim_root _dynamic "
        "insert_dynamic"
    ),
    "logging": (
        "~csv/ LOGGER MYSQL_LOG MYSQL_QUERY_LOG Log_to_ general_log slow_log Log_event_handler "
        "sql_print Query_logger File_query_log log_builtins Log_to_file Log_to_csv_event"
    ),
    "statistics": (
        "set_statistics_for_table ~perfschema/ ~sql/ha_partition.cc ~userstat/ pfs_ PFS_ PSI_ "
        "psi_ start_mutex start_table_io end_table_io start_socket end_socket start_file "
        "end_file start_statement end_statement table_io find_or_create insert_events aggregate_ "
        "reset_events my_timer copy_events events_ set_thread_ status_var "
        "update_global_user_stats inc_statistics Userstat THD::update_all_stats"
    ),
    "sorting": (
        "compare_packed_sort_keys filesort Filesort merge_ Unique Sort_ rr_unpack make_sortkey "
        "radixsort my_qsort Bounded"
    ),
    "connecting": (
        "acl_ login_connection check_connection create_thd thd_prepare_connection "
        "setup_connection end_connection close_connection unlink_thd native_password sha256_ "
        "caching_sha2 my_thread_init my_thread_end parse_client_handshake do_auth thd_init "
        "THD::init THD::cleanup handle_connections create_new_thread [ld-"
    ),
    "tls": "[libssl [libcrypto [libwolfssl [libgnutls vio_ssl ssl_",
    "compression": "[libz. [liblz4 [libzstd [libsnappy page_zip compress deflate inflate",
    "vacuum": (
        "~trx/trx0purge ~row/row0purge purge_ trx_purge row_purge srv_purge srv_do_purge purge_sys"
    ),
    "replication": (
        "Repl_semi_sync semi_sync compare_log_name binlog_ MYSQL_BIN_LOG Log_event "
        "Query_log_event Rows_log_event Gtid_log_event rpl_ Gtid_ Rpl_ slave_ Relay_log "
        "handle_slave Wsrep wsrep Write_rows Update_rows event_cache"
    ),
    "library": "my_vsnprintf my_snprintf strmake strmov",
    "clocks": "my_interval_timer my_hrtime microsecond_interval thr_timer my_getsystime",
}
