create or replace procedure dbdyno_new_order(
    w int, d int, c int, all_local int, items text, supplies text, quantities text,
    inout o int, inout total decimal)
language plpgsql as $$
declare
    item_ids int[] := string_to_array(items, ',')::int[];
    supply_ids int[] := string_to_array(supplies, ',')::int[];
    ordered int[] := string_to_array(quantities, ',')::int[];
    warehouse record;
    district_row record;
    buyer record;
    sold record;
    stocked record;
    amount decimal;
begin
    select w_tax into warehouse from warehouse where w_id = w;
    select d_tax, d_next_o_id into district_row from district where d_w_id = w and d_id = d for update;
    o := district_row.d_next_o_id;
    update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d;
    select c_discount, c_last, c_credit into buyer from customer
    where c_w_id = w and c_d_id = d and c_id = c;
    insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    values (o, d, w, c, current_timestamp, cardinality(item_ids), all_local);
    insert into new_order (no_o_id, no_d_id, no_w_id) values (o, d, w);
    total := 0;
    for n in 1 .. cardinality(item_ids) loop
        select i_price, i_name, i_data into sold from item where i_id = item_ids[n];
        if not found then
            rollback;
            o := null;
            return;
        end if;
        select s_quantity, s_data,
            case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
                when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end as s_dist
        into stocked from stock where s_w_id = supply_ids[n] and s_i_id = item_ids[n] for update;
        update stock set
            s_quantity = case when s_quantity >= ordered[n] + 10 then s_quantity - ordered[n]
                else s_quantity - ordered[n] + 91 end,
            s_ytd = s_ytd + ordered[n], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when supply_ids[n] = w then 0 else 1 end
        where s_w_id = supply_ids[n] and s_i_id = item_ids[n];
        amount := ordered[n] * sold.i_price;
        insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_quantity, ol_amount, ol_dist_info)
        values (o, d, w, n, item_ids[n], supply_ids[n], ordered[n], amount, stocked.s_dist);
        total := total + amount;
    end loop;
    total := total * (1 - buyer.c_discount) * (1 + warehouse.w_tax + district_row.d_tax);
end
$$
