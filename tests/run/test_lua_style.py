"""Whole scripts in the style of sysbench-tpcc and of sysbench 1.1, on both kinds of server.

They represent scripts that people have: several files, tables loaded by all threads at once,
transactions by name, rows read by the script, counters of sysbench's C side, own reports.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.cli.output import Exit
from tests.run.logging_servers import LoggingMariaDB, LoggingPostgres, LoggingServer
from tests.support.ended import ENDED, assert_sound

pytestmark = pytest.mark.usefixtures("home")

SHOP_COMMON = """
local ffi = require("ffi")
ffi.cdef[[
void sb_counter_inc(int, sb_counter_type);
int usleep(uint32_t useconds);
]]

function init() assert(event ~= nil, "not to be called directly") end
if sysbench.cmdline.command == nil then error("Command is required") end

sysbench.cmdline.options = {
  shops = {"Number of shops", 4},
  tables = {"Number of tables", 1},
  level = {"Isolation (RR, RC)", "RR"},
  options = {"Extra table options", ""},
}
local levels = {RR = "REPEATABLE READ", RC = "READ COMMITTED"}

function connected()
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  local level = levels[sysbench.opt.level]
  if drv:name() == "mysql" then
    local variable = con:query_row("SHOW VARIABLES LIKE 't%_isolation'")
    con:query("SET SESSION " .. variable .. "='" .. level:gsub(" ", "-") .. "'")
    con:query("SET autocommit=0")
  else
    con:query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " .. level)
    con:query("SET search_path TO public")
  end
  return drv, con
end

local function each(count)
  local n = sysbench.tid % sysbench.opt.threads + 1 - sysbench.opt.threads
  return function()
    n = n + sysbench.opt.threads
    return n <= count and n or nil
  end
end

function create(drv, con, n)
  local kind = drv:name() == "mysql" and "tinyint" or "smallint"
  con:query(string.format([[CREATE TABLE IF NOT EXISTS shop%d (
    s_id ]] .. kind .. [[ not null, s_sold decimal(12,2), s_next int, primary key (s_id)) %s]],
    n, sysbench.opt.options))
  con:query(string.format([[CREATE TABLE IF NOT EXISTS sale%d (
    a_shop int not null, a_id int not null, a_item varchar(30), a_price decimal(6,2),
    primary key (a_shop, a_id))]], n))
  con:query("CREATE INDEX sale_item" .. n .. " ON sale" .. n .. " (a_item)")
  con:query("COMMIT")
end

function load(con, shop)
  local shuffled = {}
  for i = 1, 20 do shuffled[i] = i end
  for i = 1, 20 do
    local j = math.random(i, 20)
    shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
  end
  for n = 1, sysbench.opt.tables do
    con:query(string.format("INSERT INTO shop%d VALUES (%d, 0, 21)", n, shop))
    con:bulk_insert_init("INSERT INTO sale" .. n .. " (a_shop, a_id, a_item, a_price) values")
    for i = 1, 20 do
      con:bulk_insert_next(string.format("(%d,%d,'%s',%f)", shop, shuffled[i],
        sysbench.rand.string("item-@@@@@##"):sub(1, 24), sysbench.rand.uniform_double() * 99 + 1))
    end
    con:bulk_insert_done()
  end
  con:query("COMMIT")
end

sysbench.cmdline.commands = {
  prepare = {function()
    local drv, con = connected()
    for n in each(sysbench.opt.tables) do create(drv, con, n) end
    os.execute("sleep " .. tonumber("3"))
    for shop in each(sysbench.opt.shops) do load(con, shop) end
  end, sysbench.cmdline.PARALLEL_COMMAND},
  check = {function()
    local _, con = connected()
    local found = con:query([[SELECT s_id, s_next - 1, most FROM shop1,
      (SELECT a_shop, max(a_id) most FROM sale1 GROUP BY a_shop) last WHERE a_shop = s_id]])
    local passed = found.nrows == sysbench.opt.shops
    for _ = 1, found.nrows do
      local row = found:fetch_row()
      passed = passed and tonumber(row[2]) == tonumber(row[3])
    end
    print(string.format("Check: %s", passed and "PASSED" or "FAILED!!!"))
  end, sysbench.cmdline.PARALLEL_COMMAND},
}

function cleanup()
  local _, con = connected()
  for n = 1, sysbench.opt.tables do
    con:query("DROP TABLE IF EXISTS sale" .. n)
    con:query("DROP TABLE IF EXISTS shop" .. n)
  end
  con:query("COMMIT")
end

function thread_done() con:disconnect() end
"""

SHOP = """#!/usr/bin/env sysbench
require("shop_common")
require("shop_run")

function thread_init() drv, con = connected() end

function event()
  local drawn = sysbench.rand.uniform(1, 10)
  local trx = drawn <= 6 and "sell" or drawn <= 8 and "look" or "refuse"
  _G[trx]()
end

function sysbench.hooks.before_restart_event(problem) con:query("ROLLBACK") end
function sysbench.hooks.report_intermediate(stat) sysbench.report_csv(stat) end
"""

SHOP_RUN = """
require("shop_common")

local function shop() return bit.bor(sysbench.rand.uniform(1, sysbench.opt.shops), 0) end

function sell()
  local home = shop()
  con:query("BEGIN")
  local next_id, sold = con:query_row(([[SELECT s_next, s_sold
    FROM shop%d WHERE s_id = %d FOR UPDATE]]):format(1, home))
  con:query(([[UPDATE shop%d SET s_next = %d, s_sold = %f
    WHERE s_id = %d]]):format(1, next_id + 1, tonumber(sold) + 5, home))
  con:query(([[INSERT INTO sale%d (a_shop, a_id, a_item, a_price)
    VALUES (%d,%d,'%s',%d)]]):format(1, home, next_id, string.format("%10s ", "it"), 5))
  con:query("COMMIT")
end

function look()
  con:query("BEGIN")
  local count = con:query_row("SELECT count(*) FROM sale1 WHERE a_shop = " .. shop())
  if count % 2 == 0 then count = count + 1 end
  rs = con:query(("SELECT a_id, a_item FROM sale%d WHERE a_shop = %d"):format(1, shop()))
  for _ = 1, rs.nrows do
    local id, item = unpack(rs:fetch_row(), 1, rs.nfields)
    assert(id and item)
  end
  con:query("COMMIT")
end

function refuse()
  con:query("BEGIN")
  rs = con:query("SELECT a_id FROM sale1 WHERE a_shop = -1")
  if rs.nrows == 0 then
    ffi = require("ffi")
    ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
    con:query("ROLLBACK")
  end
end
"""

NEWER = """
sysbench.cmdline.options = {
  rows = {"Rows", 50},
  mode = {"A word", "plain", sysbench.cmdline.ARG_STRING, function(_, text) return #text > 3 end},
  names = {"A list", {"a", "b"}},
  fast = {"A switch", false},
}
local function con_of() return sysbench.sql.driver():connect() end
function prepare()
  local con = con_of()
  con:query("CREATE TABLE newer (id int primary key, n bigint, x double precision, t varchar(60))")
  con:bulk_insert_init("INSERT INTO newer (id, n, x, t) VALUES")
  for id = 1, sysbench.opt.rows do
    con:bulk_insert_next(("(%d, %d, %f, '%s')"):format(id, id, 0.5, sysbench.rand.varstring(1, 9)
      :gsub("[^%w]", "-")))
  end
  con:bulk_insert_done()
end
function cleanup() con_of():query("DROP TABLE newer") end

function thread_init(tid)
  assert(tid == sysbench.tid and sysbench.opt.mode == "other" and sysbench.opt.fast == true)
  assert(#sysbench.opt.names == 3 and sysbench.opt.warmup_time == 0)
  con = con_of()
  local kind = sysbench.sql.type
  set = con:prepare("UPDATE newer SET n = ?, x = ?, t = ? WHERE id = ?")
  params = {set:bind_create(kind.BIGINT), set:bind_create(kind.DOUBLE),
            set:bind_create(kind.VARCHAR, 20), set:bind_create(kind.INT)}
  set:bind_param(unpack(params))
  get = con:prepare("SELECT n, t FROM newer WHERE id = ?")
  key = get:bind_create(kind.INT)
  get:bind_param(key)
  spread = sysbench.histogram.new(8, 1, 100)
end
function event()
  local id = sysbench.rand.zipfian(1, sysbench.opt.rows)
  params[1]:set(id * 3)
  params[2]:set(sysbench.rand.uniform_double())
  params[3]:set_rand_str("###-@@@")
  params[4]:set(id)
  set:execute()
  key:set(id)
  local found = get:execute()
  local row = found:fetch_row()
  assert(found.nrows == 1 and tonumber(row[1]) == id * 3 and #row[2] == 7, "what was set is there")
  found:free()
  spread:update(id)
end
function thread_done()
  spread:print()
  set:close()
  get:close()
  con:disconnect()
end
sysbench.hooks.report_cumulative = sysbench.report_json
"""


@pytest.fixture(
    scope="module", params=[LoggingMariaDB, LoggingPostgres], ids=["mariadb", "postgres"]
)
def server(request: pytest.FixtureRequest) -> Iterator[LoggingServer]:
    started = request.param()
    yield started
    started.remove()


def execute(server: LoggingServer, *arguments: str, given: tuple[str, ...] = ()) -> int:
    return main([*arguments, "--target", server.url, "--", *given])


def counted(transactions: int) -> tuple[str, ...]:
    return ("-c", "4", "-t", str(transactions), "--warmup", "0", "--telemetry", "off", "--json")


def log_of(home: Path, capfd) -> tuple[dict, list[str]]:
    record = json.loads(capfd.readouterr().out)
    assert_sound(record["invalid_reasons"])
    log = home / "runs" / record["run_id"] / "log.txt"
    return record, log.read_text(encoding="utf-8").splitlines()


ROWS_ON_THE_WAY = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("BEGIN")
  local answer, text = con:query_row("SELECT 41 + 1, 'a'")
  assert(tonumber(answer) == 42 and text == "a", "the row did not arrive")
  con:query("COMMIT")
end
"""


def test_a_row_arrives_that_no_value_of_a_query_leads_to(
    server: LoggingServer, home: Path, tmp_path: Path, capfd
):
    (tmp_path / "rows.lua").write_text(ROWS_ON_THE_WAY, encoding="utf-8")
    assert execute(server, "run", str(tmp_path / "rows.lua"), *counted(25)) in ENDED
    record, _ = log_of(home, capfd)
    assert record["transactions"]["ok"] == 100


def test_in_the_manner_of_tpcc(server: LoggingServer, home: Path, tmp_path: Path, capfd):
    texts = {"shop": SHOP, "shop_common": SHOP_COMMON, "shop_run": SHOP_RUN}
    for name, text in texts.items():
        (tmp_path / f"{name}.lua").write_text(text, encoding="utf-8")
    script = str(tmp_path / "shop.lua")
    given = ("--shops=4", "--threads=2")
    assert execute(server, "load", script, given=given) == Exit.OK
    assert server.tables() == 2
    capfd.readouterr()
    code = execute(server, "run", script, *counted(25), given=given[:1])
    assert code in ENDED
    record, _ = log_of(home, capfd)
    done = record["transactions"]
    assert (done["ok"], done["failed"]) == (100, 0)
    assert execute(server, "script", script, "check", given=given[:1]) == Exit.OK
    assert "Check: PASSED" in capfd.readouterr().out
    assert execute(server, "script", script, "cleanup", given=given[:1]) == Exit.OK
    assert server.tables() == 0


def test_in_the_manner_of_newer_versions(server: LoggingServer, home: Path, tmp_path: Path, capfd):
    script = tmp_path / "newer.lua"
    script.write_text(NEWER, encoding="utf-8")
    assert execute(server, "load", str(script)) == Exit.OK
    capfd.readouterr()
    wrong = execute(server, "run", str(script), *counted(1), given=("--mode=no",))
    assert wrong == Exit.NOTHING_RUN
    assert "invalid value for option --mode: no" in capfd.readouterr().out
    given = ("--mode=other", "--names=x,y,z", "--fast")
    for mode in ("prepared", "simple"):
        code = execute(server, "run", str(script), *counted(10), "-M", mode, given=given)
        assert code in ENDED
        record, log = log_of(home, capfd)
        assert (record["transactions"]["ok"], record["transactions"]["failed"]) == (40, 0)
        assert sum("- distribution -" in line for line in log) == 4  # each client's histogram
        begin = next(place for place, line in enumerate(log) if line.startswith("[{"))
        (report,) = json.loads("".join(log[begin : begin + 2]))
        assert report["qps"]["reads"] == pytest.approx(report["tps"], abs=0.02)
    assert execute(server, "script", str(script), "cleanup") == Exit.OK
    assert server.tables() == 0
