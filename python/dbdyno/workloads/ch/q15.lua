-- The supplier with the highest revenue.
local query = statement([[
   with revenue as (
      select mod(s_w_id * s_i_id, 10000) as supplier_no, sum(ol_amount) as total
      from order_line
         join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      group by mod(s_w_id * s_i_id, 10000)
   )
   select su_suppkey, su_name, su_address, su_phone, total
   from revenue
      join supplier on su_suppkey = supplier_no
   where total = (select max(total) from revenue)
   order by su_suppkey]])

function transaction()
   query()
end
