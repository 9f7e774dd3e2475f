//! Plans whose outcome can be worked out by hand: a second of warm-up, intervals of a second.

use dbdyno_model::{
    Address, ArrivalLaw, Arrivals, Endpoint, Io, Nanos, Plan, Protocol, QueryMode, Reports, Retry,
    Script, ScriptChoice, Stage, Think, ThinkLaw, Tls, TlsMode,
};
use std::collections::BTreeMap;

pub(crate) fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

pub(crate) fn script(name: &str, weight: u32) -> Script {
    Script { name: name.into(), weight, text: String::new(), ..Script::default() }
}

pub(crate) fn plan(clients: u32, threads: u32, arrivals: Arrivals, stages: Vec<Stage>) -> Plan {
    Plan {
        endpoint: Endpoint {
            protocol: Protocol::Postgresql,
            address: Address::Unix { path: "/nowhere".into() },
            user: String::new(),
            password: None,
            database: String::new(),
            parameters: BTreeMap::new(),
            session_statements: Vec::new(),
            tls: Tls {
                mode: TlsMode::Disable,
                root_certificates: None,
                certificate: None,
                key: None,
            },
            further_addresses: Vec::new(),
            read_only_query: None,
            standby_addresses: Vec::new(),
            connect_timeout_ns: Nanos::from_secs(10),
        },
        query_mode: QueryMode::Simple,
        scripts: vec![script("only", 1)],
        script_choice: ScriptChoice::Weighted,
        groups: Vec::new(),
        variables: BTreeMap::new(),
        seed: 42,
        clients,
        executors: 0,
        threads,
        own_threads: Vec::new(),
        io: Io::Auto,
        arrivals,
        stages,
        transactions_per_client: None,
        warmup_ns: ms(1000),
        interval_ns: ms(1000),
        activity_interval_ns: None,
        latency_limit_ns: None,
        reconnect_each_transaction: false,
        retry: Retry { tries_max: 1, time_max_ns: None },
        stall_limit_ns: Nanos::from_secs(60),
        ends_on_hopeless_script: true,
        allow_shell: false,
        reports: Reports::Counts,
        lua: None,
    }
}

pub(crate) fn stage(seconds: u64, rate_tps: Option<f64>) -> Stage {
    Stage { duration_ns: Some(Nanos::from_secs(seconds)), clients: None, rate_tps }
}

#[allow(dead_code, reason = "not every test has a closed loop")]
pub(crate) fn closed() -> Arrivals {
    Arrivals::Closed { think: Think { law: ThinkLaw::Constant, mean_ns: Nanos::ZERO } }
}

#[allow(dead_code, reason = "not every test has an open loop")]
pub(crate) fn open(law: ArrivalLaw) -> Arrivals {
    Arrivals::Open { law }
}
