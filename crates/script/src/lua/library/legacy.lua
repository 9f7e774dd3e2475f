-- The global functions of sysbench 0.5, which 1.0 still had: one connection per client, opened
-- without naming a driver, at the latest by the first statement.
local host, library = ...

local function no_connection()
   error("Uninitialized database connection", 3)
end

function library.legacy(environment, sysbench)
   local rand = sysbench.rand
   local current

   local function connected()
      return current or no_connection()
   end

   -- sysbench leaves a connection of before open and never uses it again.
   local function connect()
      if not (current and current.open) then
         current = sysbench.sql.driver():connect()
      end
      return current
   end

   function environment.db_connect()
      connect()
   end

   function environment.db_disconnect()
      if current then
         current:disconnect()
         current = nil
      end
   end

   function environment.db_query(query)
      return connect():query(query)
   end

   function environment.db_bulk_insert_init(query)
      connect():bulk_insert_init(query)
   end

   function environment.db_bulk_insert_next(row)
      connected():bulk_insert_next(row)
   end

   function environment.db_bulk_insert_done()
      connected():bulk_insert_done()
   end

   function environment.db_prepare(query)
      return connect():prepare(query)
   end

   -- Parameters are bound once, as a table of values, whose types are those of the values; each
   -- execution sends the table's current values.
   function environment.db_bind_param(statement, bound)
      local parameters = {}
      for place, value in ipairs(bound) do
         local text = type(value) == "string"
         local kind = text and sysbench.sql.type.VARCHAR or sysbench.sql.type.BIGINT
         parameters[place] = statement:bind_create(kind, text and math.huge or nil)
      end
      statement.bound = bound
      statement:bind_param(unpack(parameters))
   end

   function environment.db_execute(statement)
      for place, value in ipairs(statement.bound or {}) do
         statement.parameters[place]:set(value)
      end
      return statement:execute()
   end

   function environment.db_store_results(found) return found end
   function environment.db_free_results() end
   function environment.db_close(statement) statement:close() end

   environment.sb_rand, environment.sb_rand_str = rand.default, rand.string
   environment.sb_rand_uniform, environment.sb_rand_gaussian = rand.uniform, rand.gaussian
   environment.sb_rand_special = rand.special

   function environment.sb_rnd()
      return tonumber(rand.uniform_uint64() % 4294967296)
   end

   function environment.sb_rand_uniq(low, high)
      local drawn
      repeat
         drawn = rand.unique()
      until drawn >= (low or 0) and drawn <= (high or 4294967295)
      return drawn
   end

   environment.DB_ERROR_NONE = 0
   environment.DB_ERROR_RESTART_TRANSACTION = 1
   environment.DB_ERROR_FAILED = 2
   environment.mysql_table_engine = "innodb"
   environment.myisam_max_rows = 1000000
   environment.thread_id = sysbench.tid
   environment.test = host.script_path
end
