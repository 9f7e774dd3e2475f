-- Takes from a customer's checking account, and a penalty if both balances together are not enough.
local penalties = counter("penalties")
local begin = statement("begin")
local select_savings = statement("select bal from savings where custid = :id", {id = "int"}, {bal = "decimal"})
local select_checking = statement("select bal from checking where custid = :id", {id = "int"}, {bal = "decimal"})
local take = statement("update checking set bal = bal - cast(:amount as decimal(12,2)) where custid = :id",
                       {id = "int", amount = "decimal"})

function transaction()
   local number = drawn()
   begin()
   local id = custid_of(number)
   local sum = select_savings {id = id}[1].bal + select_checking {id = id}[1].bal
   local amount = check
   if sum < check then
      amount = check + penalty
      penalties()
   end
   take {id = id, amount = amount}
   commit()
end
