-- Moves all that a customer has to another one's checking account.
-- What was read is taken, instead of setting balances to 0: so no level can make or lose money here.
local begin = statement("begin")
local select_savings = statement("select bal from savings where custid = :id", {id = "int"}, {bal = "decimal"})
local select_checking = statement("select bal from checking where custid = :id", {id = "int"}, {bal = "decimal"})
local take_savings = statement(
   "update savings set bal = bal - cast(:amount as decimal(12,2)) where custid = :id",
   {id = "int", amount = "decimal"})
local add = statement("update checking set bal = bal + cast(:amount as decimal(12,2)) where custid = :id",
                      {id = "int", amount = "decimal"})

function transaction()
   local giver = drawn()
   local taker = drawn_other(giver)
   begin()
   local from, to = custid_of(giver), custid_of(taker)
   local savings, checking = select_savings {id = from}[1].bal, select_checking {id = from}[1].bal
   take_savings {id = from, amount = savings}
   add_in_order(add, {id = from, amount = -checking}, {id = to, amount = savings + checking})
   commit()
end
