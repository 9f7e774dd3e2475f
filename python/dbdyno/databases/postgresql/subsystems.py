"""What PostgreSQL's functions are for, by the folders of its source tree.

Distributions leave only the exported functions their names. The linker keeps the functions of one
source file together, so a function without a name has the nearest exported one's purpose; in the
middle of a large file, where none is near, that of the source file which it mentions.
"""

from dbdyno.model.database import Subsystems

SUBSYSTEMS: Subsystems = {
    "protocol": (  # libpq, tcop, access/common/printtup.c, storage/ipc/latch.c
        "check_stack_depth pq_ pq_get pq_send PostgresMain exec_simple_query exec_parse_message "
        "exec_bind_message exec_execute_message exec_describe ReadyForQuery EndCommand "
        "BeginCommand NullCommand CreateDestReceiver DestReceiver socket_ secure_ "
        "internal_flush internal_put printtup SendRowDescription PortalRun PortalStart "
        "PortalDrop PortalDefine PortalSet PortalCleanup PortalErrorCleanup PortalHash "
        "PortalList CreatePortal CreateNewPortal GetPortal MarkPortal PinPortal UnpinPortal "
        "PreCommit_Portals ProcessQuery ProcessUtility standard_ProcessUtility CreateCommandTag "
        "GetCommandTag CommandIsReadOnly start_xact_command finish_xact_command "
        "BuildQueryCompletion InitializeQueryCompletion SetQueryCompletion WaitEventSet "
        "WaitLatch WaitEvent SetLatch ResetLatch ModifyWaitEvent AddWaitEvent "
        "CreateWaitEventSet FreeWaitEventSet set_ps_display appendBinaryStringInfo "
        "appendStringInfo enlargeStringInfo initStringInfo makeStringInfo resetStringInfo "
        "pg_client_to_server pg_server_to_client pg_any_to_server pg_verify_mbstr "
        "perform_default_encoding_conversion ProcessClientReadInterrupt ChooseExtendedProtocol "
        "pgarch_ printsimple donothing"
    ),
    "parsing": (  # parser, rewrite, nodes/makefuncs.c
        "~parser/ "
        "base_yy core_yy scanner_ raw_parser pg_parse_query pg_analyze_and_rewrite "
        "pg_rewrite_query transform addRangeTableEntry addNSItem addTargetToSortList parse_ "
        "parser_ coerce_ can_coerce func_get_detail func_match func_select make_op make_scalar "
        "make_var make_const make_fn_arguments make_parsestate free_parsestate check_ungrouped "
        "parseTypeString typenameType LookupTypeName QueryRewrite AcquireRewriteLocks "
        "fireRIRrules rewrite Rewrite get_view_query colNameToVar scanNameSpace scanRTE "
        "refnameNamespaceItem expandRTE expandNSItem expandRelation checkNameSpace assign_expr "
        "assign_query assign_list_collations ParseFuncOrColumn ParseComplex makeRangeVar "
        "makeTypeName makeA_ makeColumnRef makeString makeInteger makeDefElem makeTargetEntry "
        "makeFuncExpr makeVar makeConst oper( compatible_oper select_common_type setTargetTable "
        "markVar stmt_requires_parse_analysis analyze_requires_snapshot query_tree "
        "IncrementVarSublevelsUp OffsetVarNodes ChangeVarNodes JumbleQuery pgss_post_parse "
        "ScanKeywordLookup downcase_truncate raw_expression_tree getRTEPermissionInfo"
    ),
    "planning": (  # optimizer, nodes, utils/adt/selfuncs.c
        "~plan/ ~path/ ~prep/ ~util/ ~geqo/ "
        "pg_plan_ planner standard_planner subquery_planner grouping_planner query_planner "
        "build_ make_one_rel make_pathkey make_restrictinfo make_opclause make_and make_or "
        "make_tlist make_subplan set_ create_ cost_ clauselist_ clause_selectivity eqsel neqsel "
        "scalarltsel scalargtsel scalarlesel scalargesel scalarineqsel eqjoinsel var_eq_const "
        "get_variable get_restriction_variable examine_variable mcv_ histogram_ ineq_histogram "
        "add_path add_partial_path add_vars add_base_rels add_other_rels add_child generate_ "
        "deconstruct_ match_ get_relation_info get_relation_ get_index_paths get_cheapest "
        "get_eclass get_baserel get_join_variables get_tablespace_page_costs choose_bitmap "
        "estimate_ eval_const_expressions simplify_ preprocess_ process_equivalence expand_ "
        "pathkeys_ compare_path compare_fractional truncate_useless join_is_legal join_search "
        "standard_join_search populate_joinrel final_cost initial_cost find_base_rel "
        "find_join_rel find_lateral find_ec find_computable find_nonnullable find_forced fix_ "
        "SS_ pull_up pull_var pull_ reduce_outer remove_useless restriction_ distribute_ "
        "initialize_mergeclause convert_ is_redundant is_parallel extract_ query_is "
        "predicate_implied predicate_refuted clause_sides negate_clause canonicalize_qual "
        "contain_ inline_ replace_ flatten_ adjust_appendrel apply_ order_qual "
        "relation_excluded rel_is expression_returns_set bms_ list_ lappend lcons new_list "
        "copyObjectImpl equal( exprType exprTypmod exprCollation exprLocation expression_tree "
        "expression_planner tlist_ limit_needed get_actual_variable have_ plan_ record_plan_ "
        "make_canonical make_inner_pathkeys select_outer_pathkeys select_mergejoin "
        "find_mergeclauses trim_mergeclauses update_mergeclause clamp_ canonicalize_ec "
        "is_pseudo_constant nodeToString stringToNode has_relevant has_legal has_useful_pathkeys "
        "has_indexed_column has_unique_index has_row_triggers RelationGetStatExtList statext_ "
        "dependencies_ get_commutator_pathkeys _copy _equal outNode"
    ),
    "partitions": (
        "~partitioning/ "
        "partition_ Partition ExecFindPartition ExecFindMatchingSubPlans ExecInitPartition "
        "ExecSetupPartition ExecCreatePartitionPruneState prune_append get_matching_ "
        "gen_partprune perform_pruning find_inheritance_children find_all_inheritors "
        "RelationGetPartition expand_inherited expand_partitioned get_partition "
        "satisfies_hash_partition add_child_rel apply_scanjoin_target_to_paths set_append_rel "
        "make_partition_pruneinfo partition_bounds"
    ),
    "execution": (  # executor, utils/fmgr, nodes/params.c
        "planstate_tree ExprEvalPushStep fetch_finfo_record CheckExprStillValid "
        "CheckOpSlotCompatibility Exec Executor standard_Executor EvalPlan CreateExecutorState "
        "FreeExecutorState CreateExprContext ReScanExprContext FreeExprContext "
        "MakeTupleTableSlot slot_ MultiExec tts_ BlessTupleDesc FunctionCall DirectFunctionCall "
        "OidFunctionCall InputFunctionCall OutputFunctionCall SendFunctionCall "
        "ReceiveFunctionCall OidInputFunction OidOutputFunction fmgr_ Instr CreateQueryDesc "
        "FreeQueryDesc CheckValidResultRel execTuples BuildTupleHash LookupTupleHash tuplehash_ "
        "CheckVarSlot get_call_result AggCheckCall makeParamList copyParamList begin_tup_output "
        "UpdateChangedParamSet tstoreReceive tqueue"
    ),
    "values": (  # utils/adt
        "namestrcpy namestrcmp int2 int4 int8 in_range float4 float8 numeric_ bpchar bcTruelen "
        "varchar text date_ timestamp time_ interval_ GetCurrentDateTime EncodeDate EncodeTime "
        "DecodeDate pg_strtoint pg_itoa pg_ltoa pg_lltoa pg_ultoa pg_utoa btint bttext btbpchar "
        "btfloat btoid btname btchar hashint hashtext hashfloat hash_numeric varstr_ pg_detoast "
        "detoast_ toast_ jsonb_ json_ array_ construct_ deconstruct_array oideq oidlt oidgt "
        "oidin oidout booleq boolin boolout charin charout charne chareq namein nameout nameeq "
        "namelt namene like_ nlike textlike bpcharlike uuid_ int8inc lower upper str_tolower "
        "cstring_to_text text_to_cstring record_ datumCopy datumGetSize datumIsEqual datum_ "
        "j2date date2j tm2timestamp nextval currval setval pg_strncoll pg_newlocale drandom "
        "pg_prng lpad repeat heap_fetch_toast regexp_ pg_regexec pg_regcomp pg_utf8 pg_mb "
        "pg_encoding get_str_from_var make_result init_var add_var sub_var mul_var div_var"
    ),
    "procedures": "[plpgsql. plpgsql_ SPI_ _SPI_ [plpython [plperl [pltcl fmgr_sql fmgr_security",
    "triggers": (
        "~commands/trigger "
        "AfterTrigger ExecBRInsertTriggers ExecARInsertTriggers ExecBRUpdateTriggers "
        "ExecARUpdateTriggers ExecBRDeleteTriggers ExecARDeleteTriggers ExecBSInsertTriggers "
        "ExecASInsertTriggers ExecBSUpdateTriggers ExecASUpdateTriggers ExecBSDeleteTriggers "
        "ExecASDeleteTriggers ExecCallTrigger ExecIRInsert ExecIRUpdate ExecIRDelete RI_ ri_ "
        "TriggerEnabled RelationBuildTriggers GetTupleForTrigger trigger"
    ),
    "indexes": (  # access/nbtree, index, gin, gist, hash, brin, spgist
        "_bt_ btgettuple btinsert btrescan btbeginscan btendscan btgetbitmap btbuild "
        "btbulkdelete btvacuum btcanreturn btmarkpos btree_ index_ systable_ IndexGetRelation "
        "BuildIndexInfo FormIndexDatum ScanKeyEntryInitialize ScanKeyInit RelationGetIndexScan "
        "IndexScanEnd gin gist _gin brin hashinsert hashgettuple hashbeginscan _hash_ spg tbm_ "
        "pagetable_"
    ),
    "rows": (  # access/heap, table, common; storage/page, freespace
        "heap_ heapam_ HeapTuple HeapCheck HeapSatisfies heapget simple_heap table_ tuple_ "
        "RelationPutHeapTuple RelationGetBufferForTuple RelationAddExtraBlocks visibilitymap_ "
        "PageGetHeapFreeSpace PageAddItem PageIndex PageInit PageGet PageRepair "
        "compactify_tuples nocachegetattr nocache_index_getattr getmissingattr FreeTupleDesc "
        "CreateTupleDesc CreateTemplateTupleDesc IncrTupleDescRefCount DecrTupleDescRefCount "
        "index_form_tuple index_deform index_getattr RecordPageWithFreeSpace "
        "RecordAndGetPageWithFreeSpace GetPageWithFreeSpace fsm_ FreeSpaceMap ss_get_location "
        "ss_report_location"
    ),
    "buffers": (  # storage/buffer, smgr, file, aio, page/checksum.c
        "IsBufferCleanupOK ReadBuffer ReleaseBuffer UnpinBuffer PinBuffer LockBuf BufTable "
        "BufferAlloc BufferGet BufferIs MarkBufferDirty ExtendBufferedRel StrategyGet "
        "StrategyFree StrategyNotify StrategySync FlushBuffer FlushOneBuffer "
        "FlushRelationBuffers BgBufferSync SyncOneBuffer WritebackContext ScheduleBuffer "
        "IssuePendingWritebacks ConditionalLockBuffer UnlockReleaseBuffer IncrBufferRefCount "
        "ReservePrivateRefCount GetPrivateRefCount ResourceOwnerRememberBuffer "
        "ResourceOwnerForgetBuffer ResourceOwnerEnlargeBuffers LocalBuffer PrefetchBuffer "
        "PrefetchSharedBuffer ReadRecentBuffer StartReadBuffer WaitReadBuffers InvalidateBuffer "
        "GetVictimBuffer CheckPointBuffers DropRelation smgr mdread mdwrite mdextend mdnblocks "
        "mdopen mdclose mdprefetch mdstartreadv mdsync mdmaxcombine FileRead FileWrite "
        "FilePrefetch FileSize FileSync FileWriteback FileAccess FileZero FileStartReadV "
        "PathNameOpenFile OpenTransientFile BasicOpenFile pg_checksum PageIsVerified "
        "PageSetChecksum RelationGetNumberOfBlocks GetAccessStrategy pgaio_ read_stream_ "
        "HoldingBufferPin GetLocalBufferStorage"
    ),
    "locks": (  # storage/lmgr: lock.c, proc.c, lmgr.c, predicate.c
        "LockWaiterCount SHMQueue LockAcquire LockRelease LockRelation UnlockRelation LockTuple "
        "UnlockTuple LockCheckConflicts LockRefindAndRelease LockTag LockHas LockShared "
        "LockDatabase UnlockDatabase GetLock ConditionalLockTuple ConditionalLockRelation "
        "ConditionalXactLock XactLockTable Speculative VirtualXact FastPath GrantLock "
        "RemoveLocalLock ResourceOwnerRememberLock ResourceOwnerForgetLock ProcSleep ProcWakeup "
        "ProcLockWakeup JoinWaitQueue ProcReleaseLocks DeadLockCheck CheckDeadLock "
        "proclock_hash DoLock PredicateLock CheckForSerializable CheckTargetForConflicts "
        "ReleasePredicateLocks PageIsPredicate Serializable MultiXactIdWait ProcLock "
        "GetBlocking LocalLock LockOrStrong LockError DescribeLockTag InitDeadLock "
        "relation_open relation_close try_relation_open"
    ),
    "internal_locks": (
        "LWLock s_lock perform_spin_delay finish_spin_delay PGSemaphore ConditionVariable Barrier"
    ),
    "transactions": (  # access/transam/xact.c, clog.c, slru.c, multixact.c; utils/resowner
        "Xact ~StopGeneratingPinnedObjectIds StartTransaction CommitTransaction "
        "AbortTransaction AbortCurrentTransaction AbortOutOfAny xact_ GetCurrentTransaction "
        "GetTopTransaction GetTopFullTransaction GetCurrentSub GetCurrentCommandId "
        "TransactionId TransactionStart IsTransaction IsInTransaction IsAbortedTransaction "
        "IsSubTransaction BeginTransactionBlock EndTransactionBlock BeginImplicit EndImplicit "
        "UserAbort DefineSavepoint RollbackTo ReleaseSavepoint CommandCounterIncrement "
        "AssignTransactionId GetNewTransactionId SubTrans SimpleLru SlruS MultiXact "
        "RecordTransaction AtEOXact AtEOSubXact AtStart AtCommit AtAbort AtCleanup PreCommit "
        "CallXact ResourceOwner ProcArrayEnd ProcArrayGroup ExtendCLOG ExtendSUBTRANS "
        "SetTransaction TransactionTree TransactionGroup SetCurrentStatementStart "
        "GetStatementStart SyncRep smgrDoPendingDeletes smgrGetPendingDeletes FinishPrepared "
        "EnterParallelMode ForgetTransaction PushTransaction PopTransaction"
    ),
    "snapshots": (  # utils/time, storage/ipc/procarray.c
        "GetSnapshotData GetTransactionSnapshot GetLatestSnapshot GetNonHistoricCatalogSnapshot "
        "GetCatalogSnapshot GetOldest GetMaxSnapshot PushActiveSnapshot PushCopiedSnapshot "
        "PopActiveSnapshot UpdateActiveSnapshot SnapshotResetXmin SnapshotSetCommandId "
        "RegisterSnapshot UnregisterSnapshot XidInMVCC HeapTupleSatisfiesMVCC "
        "HeapTupleSatisfiesVisibility HeapTupleSatisfiesUpdate HeapTupleSatisfiesSelf "
        "HeapTupleHeaderGetC HeapTupleSetHintBits HistoricSnapshot CopySnapshot GlobalVis "
        "ComputeXid InvalidateCatalogSnapshot ActiveSnapshot FreeSnapshot "
        "TransactionIdIsInProgress TransactionIdIsCurrent TransactionIdDidCommit "
        "TransactionIdDidAbort TransactionIdPrecedes TransactionIdFollows TransactionIdLimited "
        "ProcArray ResourceOwnerRememberSnapshot ResourceOwnerForgetSnapshot xidComparator "
        "pg_lfind32 KnownAssigned"
    ),
    "log": (  # access/transam/xlog*.c, access/rmgrdesc, port/pg_crc32c
        "XLog xlog WALInsert WALRead WALRcv log_heap log_newpage GetRedoRecPtr GetXLog "
        "GetFullPageWrite GetInsertRecPtr GetFlushRecPtr GetLastImportant pg_crc32c_ "
        "pg_comp_crc32c issue_xlog_fsync WalSnd WalWriter UpdateMinRecovery RecoveryInProgress "
        "pg_fsync pg_fdatasync CreateCheckPoint CheckPointGuts AbsorbSync ProcessSync "
        "RequestCheckpoint ForwardSync RegisterSync CheckpointWriteDelay SetWalWriter"
    ),
    "catalog": (  # utils/cache, catalog
        "~catalog/ ~commands/ "
        "AtCCI_RelationMap RelationMap ~get_partition_qual_relid SearchCatCache SearchSysCache "
        "ReleaseSysCache ReleaseCatCache SysCache CatCache CatalogCache CatalogTuple "
        "CatalogIndex CatalogId catcache_ GetSysCache GetCatCache RelationIdGetRelation "
        "RelationBuild RelationClose RelationDecrement RelationIncrement RelationCache "
        "RelationClear RelationInit RelationReload RelationGetIndex RelationGetFK "
        "RelationGetDummy RelationGetReplica RelationGetPrimary load_relcache "
        "AcceptInvalidation ReceiveSharedInvalid SIGetDataEntries SIInsert SendSharedInvalid "
        "InvalidateSystem CacheInvalidate CacheRegister LocalExecuteInvalid CallSyscache "
        "lookup_type_cache lookup_rowtype get_rel get_att get_opfamily get_opcode get_op_ "
        "get_func get_typ get_type get_commutator get_negator get_mergejoin get_namespace "
        "get_collation get_base getBaseType getTypeInput getTypeOutput getTypeBinary get_index "
        "get_array get_element get_db op_input op_in op_hash op_merge op_strict op_volatile "
        "RelnameGetRelid RangeVarGet RangeVarCallback LookupExplicitNamespace LookupNamespace "
        "FuncnameGetCandidates OpernameGet OpclassnameGet recomputeNamespacePath TypenameGet "
        "isTempNamespace isTempOrTemp get_tablespace( GetCachedPlan CheckCachedPlan "
        "ReleaseCachedPlan CachedPlan CreateCachedPlan CompleteCachedPlan "
        "FetchPreparedStatement StorePreparedStatement ResourceOwnerRememberCat "
        "ResourceOwnerForgetCat ResourceOwnerRememberRelation ResourceOwnerForgetRelation "
        "ResourceOwnerRememberPlan ResourceOwnerForgetPlan ResourceOwnerRememberTuple "
        "ResourceOwnerForgetTuple GetDefaultOpClass GetRelationPath pg_class_ pg_attribute_acl "
        "pg_namespace_acl pg_proc_acl pg_type_acl pg_database_acl aclmask aclmember "
        "object_aclcheck has_privs_of_role roles_is_member_of check_enable_rls IsCatalog "
        "IsSystem IsToast IsShared superuser"
    ),
    "hash_tables": (
        "hash_search hash_seq hash_create hash_destroy hash_estimate hash_bytes hash_uint32 "
        "hash_any hash_combine get_hash_value tag_hash uint32_hash string_hash hash_freeze "
        "my_log2 hash_update hash_get hash_select hash_stats hash_corrupted init_htab dshash_"
    ),
    "memory": (
        "~load_tzoffsets palloc pfree repalloc AllocSet MemoryContext pstrdup pnstrdup "
        "MemoryChunk Slab Generation Bump GetMemoryChunk dsa_ dsm_ mcxt MemoryChunkGet pchomp "
        "AlignedAlloc psprintf pvsnprintf"
    ),
    "logging": (  # utils/error, postmaster/syslogger.c, port/snprintf.c after port/quotes.c
        "errstart errfinish errmsg errdetail errhint errcode errcontext errsave errhide "
        "errposition errtable errstack elog_ EmitErrorReport send_message write_log "
        "log_line_prefix log_status_format write_pipe_chunks write_console write_stderr "
        "write_syslog FlushErrorState FreeErrorData CopyErrorData ReThrowError err_generic "
        "pg_vsnprintf pg_snprintf pg_sprintf pg_fprintf pg_vfprintf pg_strfromd message_level "
        "should_output ErrorContext set_errcontext unpack_sql_state write_csvlog write_jsonlog "
        "~escape_single_quotes_ascii errbacktrace logfile_ SysLogger in_error_recursion "
        "check_log_duration check_log_of_query get_backend_type_for_log appendJSON escape_json"
    ),
    "statistics": "pgstat_ pgStat PgStat pg_stat_ [pg_stat_statements. pgss_ AtEOXact_PgStat",
    "compilation": "jit_ llvm [libLLVM [llvmjit.",
    "sorting": (
        "tuplesort_ qsort pg_qsort tuplestore_ LogicalTape BufFile ApplySort PrepareSort ssup_ "
        "comparetup inittapes mergeruns heap_compare binaryheap_ sts_ pairingheap_ rb_"
    ),
    "connecting": (  # postmaster, libpq/auth*.c, utils/init, utils/misc/guc*.c
        "InitPostgres InitProcess BackendRun BackendStartup BackendMain BackendInitialize "
        "ServerLoop PostmasterMain ProcessStartupPacket ClientAuthentication CheckMD5 "
        "CheckSCRAM scram_ pg_be_scram pg_saslprep PerformAuthentication process_startup "
        "process_settings load_hba load_libraries load_file RelationCacheInitialize "
        "InitializeSession CheckMyDatabase ProcKill shmem_exit proc_exit on_proc_exit "
        "before_shmem_exit AuxiliaryProcess fork_process SubPostmaster StreamConnection "
        "StreamServer StreamClose hba_ check_hba PostmasterStateMachine InitPlanCache "
        "InitCatCache pg_tz tzload SetDatabaseEncoding InitializeGUC SelectConfig guc_ "
        "set_config SetConfig ProcessConfig build_guc find_option AtEOXact_GUC AtStart_GUC "
        "NewGUCNestLevel ReportChangedGUC BeginReportingGUC CleanupBackend pg_hmac pg_sha "
        "pg_cryptohash pg_md5 InitSharedInvalid ProcArrayAdd ProcArrayRemove "
        "SharedInvalBackendInit ProcSignalInit pgstat_beinit pgstat_bestart BaseInit "
        "InitFileAccess InitializeClientEncoding ReadyForConnections postmaster_ "
        "DetermineTimeZone StartupXLOG [ld-"
    ),
    "tls": "be_tls_ [libssl [libcrypto",
    "compression": "pglz_ [libz. [liblz4 [libzstd",
    "vacuum": (  # commands/vacuum*.c, analyze.c, access/heap: vacuumlazy.c, pruneheap.c
        "vacuum lazy_ heap_vacuum heap_prune heap_page_prune heap_page_is_all_visible vac_ "
        "autovac AutoVacuum do_autovacuum relation_needs_vacanalyze analyze_rel do_analyze "
        "acquire_sample HeapTupleSatisfiesVacuum heap_freeze heap_prepare_freeze "
        "heap_execute_freeze heap_pre_freeze dead_items parallel_vacuum TidStore std_typanalyze "
        "BlockSampler vac_update CountOtherDBBackends"
    ),
    "replication": (
        "logicalrep_ ReorderBuffer Replication Logical walrcv_ WalRcv SnapBuild replorigin_ "
        "StartLogical StartReplication"
    ),
    "clocks": (
        "enable_timeout disable_timeout disable_all_timeouts schedule_alarm get_timeout "
        "reschedule_timeouts handle_sig_alarm GetCurrentTimestamp TimestampDifference "
        "ProcessInterrupts ProcessProcSignal procsignal HandleProcSignal SendProcSignal "
        "pg_usleep"
    ),
}
