-- A payment, of a customer found by number or by last name.
local pay = statement(call .. "dbdyno_payment(:w, :d, :c_w, :c_d, :c, :name, :amount)",
   {w = "int", d = "int", c_w = "int", c_d = "int", c = "int", name = "text", amount = "decimal"})

function transaction()
   local payment = entered_payment()
   payment.w = home
   pay(payment)
end
