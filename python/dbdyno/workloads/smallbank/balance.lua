-- Reads both balances of a customer.
local begin = statement("start transaction read only")
local select_savings = statement("select bal from savings where custid = :id", {id = "int"})
local select_checking = statement("select bal from checking where custid = :id", {id = "int"})

function transaction()
   local number = drawn()
   begin()
   local id = custid_of(number)
   select_savings {id = id}
   select_checking {id = id}
   commit()
end
