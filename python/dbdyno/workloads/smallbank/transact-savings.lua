-- Pays into or takes from a customer's savings, which must not fall below 0. What is taken is negative.
local begin, rollback = statement("begin"), statement("rollback")
local select_savings = statement("select bal from savings where custid = :id", {id = "int"}, {bal = "decimal"})
local add = statement("update savings set bal = bal + cast(:amount as decimal(12,2)) where custid = :id",
                      {id = "int", amount = "decimal"})

function transaction()
   local number, amount = drawn(), sign * saved
   begin()
   local id = custid_of(number)
   if select_savings {id = id}[1].bal + amount < 0 then
      rollback()
      return
   end
   add {id = id, amount = amount}
   commit()
end
