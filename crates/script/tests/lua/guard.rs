//! What a script may use beyond the library, and what only with unsafe Lua allowed.

use crate::driver::{Client, nothing, printed, program, program_with, settings};
use dbdyno_script::lua::Settings;

/// What one event of a script prints.
fn printed_by(body: &str, settings: Settings) -> Vec<String> {
    let text = format!("ffi = require('ffi')\nfunction event() {body} end");
    let program = program_with(&text, settings).expect("no problem");
    Client::new(&program, nothing).live(1).expect("no fault");
    printed()
}

#[test]
fn what_reaches_the_machine_is_refused_by_name() {
    for (body, what) in [
        ("io.open('/etc/passwd')", "io.open"),
        ("os.remove('/tmp/x')", "os.remove"),
        ("os.exit()", "os.exit"),
        ("ffi.new('int[1]')", "ffi.new"),
        ("ffi.string(1LL)", "ffi.string"),
        ("ffi.C.system('id')", "ffi.C.system"),
        ("os.execute('id')", "os.execute"),
        ("os.getenv('PATH')", "os.getenv"),
    ] {
        let printed = printed_by(&format!("print(pcall(function() {body} end))"), settings());
        assert!(
            printed[0].contains(what) && printed[0].contains("--allow-unsafe-lua"),
            "{printed:?}"
        );
    }
}

#[test]
fn harmless_parts_are_there() {
    let body = "print(os.getenv('NEVER_SET'), type(os.time()), type(os.clock()), #os.date('%Y'), \
                os.difftime(2, 1), bit.band(7, 2), jit.os ~= nil)";
    assert_eq!(printed_by(body, settings()), ["nil\tnumber\tnumber\t4\t1\t2\ttrue"]);
}

#[test]
fn the_states_own_globals_cannot_be_had() {
    let body = "for _, f in ipairs{print, math.random, sysbench.rand.uniform, 1, 0, string.rep} do \
                local env = getfenv(f) print(env.ffi ~= nil and env.io == io, env.debug ~= nil and env.debug.getregistry) end \
                print(debug.getregistry, package.loadlib, loadfile('/etc/passwd'))";
    let lines = printed_by(body, settings());
    assert!(lines[..6].iter().all(|line| !line.contains("function")), "{lines:?}");
    assert_eq!(lines[6], "nil\tnil\tnil\tcannot open /etc/passwd");
}

#[test]
fn byte_code_is_not_loaded() {
    let body = "print(loadstring(string.dump(function() end))) print(load(string.dump(event)))";
    assert_eq!(printed_by(body, settings()), ["nil\tbyte code is not loaded"; 2]);
}

#[test]
fn text_is_loaded_into_the_scripts_own_globals() {
    let body =
        "x = 5 print(loadstring('y = x + 1 return y')(), y, load(function() return nil end))";
    assert!(printed_by(body, settings())[0].starts_with("6\t6\tfunction"));
}

#[test]
fn trusted_scripts_have_everything() {
    let trusted = Settings { allow_unsafe: true, ..settings() };
    let body = "local f = io.open('/proc/self/status') print(f:read('*l') ~= nil) f:close() \
                print(ffi.new('int[2]')[1], type(os.getenv('PATH')), type(debug.getinfo)) \
                ffi.cdef[[int getpid(void);]] print(ffi.C.getpid() > 0, ffi.C.SB_CNT_ERROR)";
    assert_eq!(printed_by(body, trusted), ["true", "0\tstring\tfunction", "true\t4"]);
}

fn with_modules<const N: usize>(modules: [(&str, &str); N]) -> Settings {
    let modules = modules.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    Settings { modules, ..settings() }
}

#[test]
fn trusted_scripts_load_any_file_into_their_own_globals() {
    let trusted = Settings { allow_unsafe: true, ..settings() };
    let body = "local path = os.tmpname() local file = io.open(path, 'w') \
                file:write('return x') file:close() x = 7 \
                print(dofile(path), loadfile(path)()) os.remove(path)";
    assert_eq!(printed_by(body, trusted), ["7\t7"]);
}

#[test]
fn modules_come_from_the_settings_alone() {
    let module = "function helper() return 'helped' end return {answer = 42}";
    let modules = with_modules([("lib.util", module), ("common", "common = true")]);
    let text = "local m = require('lib.util') local again = require('lib.util') dofile('some/where/common.lua') \
                function event() print(m.answer, m == again, helper(), common, package.loaded['lib.util'] == m) end";
    let program = program_with(text, modules).expect("no problem");
    Client::new(&program, nothing).live(1).expect("no fault");
    assert_eq!(printed(), ["42\ttrue\thelped\ttrue\ttrue"]);
    let missing = crate::driver::problem_of("require('nowhere')", settings());
    assert!(missing.contains("module 'nowhere' not found: no file 'nowhere.lua'"), "{missing}");
}

#[test]
fn modules_may_be_in_a_folder_that_the_script_adds_to_its_path() {
    let modules = with_modules([("lib.util", "return 'of lib'"), ("util", "return 'own'")]);
    let text = "package.path = package.path .. ';some/lib/?.lua;/usr/share/x/?.lua' \
                function event() print(require('util'), pcall(require, 'nowhere')) end";
    let own = program_with(text, modules).expect("no problem");
    Client::new(&own, nothing).live(1).expect("no fault");
    let program = program_with(text, with_modules([("lib.util", "return 'of lib'")]));
    Client::new(&program.expect("no problem"), nothing).live(1).expect("no fault");
    let lines = printed();
    assert!(lines[0].starts_with("own\tfalse"), "{lines:?}");
    assert!(lines[1].starts_with("of lib\tfalse"), "{lines:?}");
}

#[test]
fn libraries_may_be_required() {
    let body = "for name in ('string table math os io coroutine debug bit jit package ffi'):gmatch('%a+') do \
                assert(require(name) == _G[name], name) end print(require('_G') == _G)";
    assert_eq!(printed_by(body, settings()), ["true"]);
}

#[test]
fn a_file_is_loaded_to_be_called_later_and_in_a_place_of_its_own() {
    let modules = with_modules([("lib.conf", "size = (size or 0) + (... or 1)"), ("bad", "x =")]);
    let body = "local chunk, place = loadfile('my/lib/conf.lua'), {} chunk() chunk(5) \
                setfenv(loadfile('lib/conf.lua'), place)(3) dofile('lib/conf.lua') print(size, place.size) \
                print(loadfile('no/such.lua')) print((select(2, loadfile('bad.lua'))))";
    let lines = printed_by(body, modules);
    assert_eq!(lines[..2], ["7\t3", "nil\tcannot open no/such.lua"]);
    assert!(lines[2].contains("bad.lua:1: unexpected symbol near '<eof>'"), "{lines:?}");
}

#[test]
fn a_loaded_file_is_each_clients_own() {
    let modules = with_modules([("own", "count = (count or 0) + 1")]);
    let text = "local chunk = loadfile('own.lua') function event() chunk() print(count) end";
    let program = program_with(text, Settings { clients: 2, ..modules }).expect("no problem");
    for execution in program.executions(0..2).expect("a Lua state") {
        Client::of(execution, nothing).live(2).expect("no fault");
    }
    assert_eq!(printed(), ["1", "2", "1", "2"]);
}

#[test]
fn a_module_may_have_globals_of_its_own() {
    let seeing = "module('lib.util', package.seeall) size = 3 function show() print(_NAME, _PACKAGE, size) end";
    let blind = "local p = print module(...) function show() p(print, _M == blind) end";
    let modules = with_modules([("lib.util", seeing), ("blind", blind)]);
    let body = "local util, blind = require('lib.util'), require('blind') util.show() blind.show() \
                print(size, util == lib.util, blind == _G.blind, pcall(module, 'event'))";
    let lines = printed_by(body, modules);
    assert_eq!(lines[..2], ["lib.util\tlib.\t3", "nil\tfalse"]);
    assert!(lines[2].starts_with("nil\ttrue\ttrue\tfalse\t"), "{lines:?}");
    assert!(lines[2].ends_with("name conflict for module 'event'"), "{lines:?}");
}

#[test]
fn a_first_line_for_the_shell_is_passed_over() {
    let text = "#!/usr/bin/env sysbench\nfunction event() error('here') end";
    let fault = Client::new(&program(text), nothing).live(1).expect_err("a fault");
    assert_eq!(fault.line, 2);
}
