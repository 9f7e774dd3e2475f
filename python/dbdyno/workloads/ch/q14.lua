-- The share of promoted items in the revenue.
local query = statement([[
   select 100.00 * sum(case when i_data like 'P%' then ol_amount else 0 end) / (1 + sum(ol_amount)) as promoted
   from order_line
      join item on i_id = ol_i_id
   where ol_delivery_d >= date '2026-01-01' and ol_delivery_d < date '2100-01-01']])

function transaction()
   query()
end
