-- Customers with more than the usual balance who have not ordered since the data was loaded, by state.
local query = statement([[
   select substr(c_state, 1, 1) as country, count(*) as customers, sum(c_balance) as balances
   from customer
   where substr(c_phone, 1, 1) in ('1', '2', '3', '4', '5', '6', '7')
      and c_balance > (
         select avg(c_balance) from customer
         where c_balance > 0.00 and substr(c_phone, 1, 1) in ('1', '2', '3', '4', '5', '6', '7'))
      and not exists (
         select 1 from orders
         where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and o_entry_d > date '2026-01-01')
   group by substr(c_state, 1, 1)
   order by country]])

function transaction()
   query()
end
