-- Two customers, in any order: clients meet, and deadlock.
local begin, commit = statement("begin"), statement("commit")
local pay = statement([[
   update shop_customer set c_balance = c_balance + :amount
   where c_w_id = 1 and c_id = :c]], {amount = "decimal", c = "int"})

function transaction()
   local first = random.uniform(1, 3)
   local second = first % 3 + 1
   begin()
   pay {amount = 1.25, c = first}
   pay {amount = -1.25, c = second}
   assert(pay {amount = 0.5, c = first}.touched == 1)
   commit()
end
