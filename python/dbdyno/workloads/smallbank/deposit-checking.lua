-- Pays into a customer's checking account.
local begin = statement("begin")
local add = statement("update checking set bal = bal + cast(:amount as decimal(12,2)) where custid = :id",
                      {id = "int", amount = "decimal"})

function transaction()
   local number = drawn()
   begin()
   add {id = custid_of(number), amount = deposited}
   commit()
end
