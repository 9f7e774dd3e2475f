-- Moves money between the checking accounts of two customers, unless the giver has too little.
local begin, rollback = statement("begin"), statement("rollback")
local select_checking = statement("select bal from checking where custid = :id", {id = "int"}, {bal = "decimal"})
local add = statement("update checking set bal = bal + cast(:amount as decimal(12,2)) where custid = :id",
                      {id = "int", amount = "decimal"})

function transaction()
   local giver = drawn()
   local taker = drawn_other(giver)
   begin()
   local from, to = custid_of(giver), custid_of(taker)
   if select_checking {id = from}[1].bal < paid then
      rollback()
      return
   end
   add_in_order(add, {id = from, amount = -paid}, {id = to, amount = paid})
   commit()
end
