//! What scripts tell of their transactions. Counters are declared by name while scripts load, the
//! same name being the same counter in all of them.

use mlua::{AppDataRefMut, Error, Lua, Table};

/// The counters of one client's scripts, and what the current transaction has counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    names: Vec<String>,
    counted: Vec<u64>,
    /// Whether a procedure of the server has rolled the current transaction back.
    was_rolled_back: bool,
    /// Whether the scripts are loaded: no further counter comes up.
    is_complete: bool,
}

impl Counters {
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The scripts are loaded.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// A transaction begins, or begins again.
    pub(super) fn clear(&mut self) {
        self.counted.fill(0);
        self.was_rolled_back = false;
    }

    pub(super) fn was_rolled_back(&self) -> bool {
        self.was_rolled_back
    }

    /// Adds what was counted.
    pub(super) fn add_to(&self, total: &mut Vec<u64>) {
        if total.len() < self.counted.len() {
            total.resize(self.counted.len(), 0);
        }
        total.iter_mut().zip(&self.counted).for_each(|(own, more)| *own += more);
    }

    /// The number of the counter of this name.
    fn declare(&mut self, name: String) -> mlua::Result<usize> {
        if let Some(number) = self.names.iter().position(|known| *known == name) {
            return Ok(number);
        }
        if self.is_complete {
            return Err(Error::runtime("a counter is declared outside of transaction()"));
        }
        self.names.push(name);
        self.counted.push(0);
        Ok(self.names.len() - 1)
    }
}

/// Adds `counter(name)`, which returns a function that counts one, or as many as it is given, and
/// `rolled_back()`.
pub(super) fn add(lua: &Lua, globals: &Table) -> mlua::Result<()> {
    lua.set_app_data(Counters::default());
    let rolled_back = lua.create_function(|lua, ()| {
        of(lua)?.was_rolled_back = true;
        Ok(())
    })?;
    globals.set("rolled_back", rolled_back)?;
    globals.set(
        "counter",
        lua.create_function(|lua, name: String| {
            let number = of(lua)?.declare(name)?;
            lua.create_function(move |lua, more: Option<u64>| {
                let mut counters = of(lua)?;
                counters.counted[number] =
                    counters.counted[number].saturating_add(more.unwrap_or(1));
                Ok(())
            })
        })?,
    )
}

fn of(lua: &Lua) -> mlua::Result<AppDataRefMut<'_, Counters>> {
    lua.app_data_mut().ok_or_else(|| Error::runtime("there are no counters here"))
}
