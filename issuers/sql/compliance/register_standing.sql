-- Returns what binds accounts, or a newcomer, in a token at an instant: pauses,
-- refusals to send and to receive, locked units, limits.
-- called by: anyone, binds_preview_rule, register_judge, register_judge_entries,
--     register_limits, register_read, trading_judge_endings,
--     trading_judge_holders, trading_read
CREATE OR REPLACE FUNCTION public.register_standing(
    of_token uuid, accounts bigint[], at timestamp with time zone, past boolean DEFAULT
    false, newcomer uuid DEFAULT NULL::uuid
)
RETURNS TABLE(account bigint, is_paused boolean, sending jsonb, receiving jsonb, locked
    numeric, locked_until timestamp with time zone, most_units numeric, most_bps
    integer, most_holders bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH rules AS MATERIALIZED (
        SELECT r.kind, r.parameters FROM issuers_tokenrule r
        WHERE r.token_id = of_token AND (r.ended_at IS NULL OR r.ended_at > at)
        AND (NOT past OR r.created_at <= at)
    ), bounds AS MATERIALIZED (
        SELECT coalesce(bool_or(r.kind = 'TRANSFERS_PAUSED'), FALSE) AS paused,
            bool_or(r.kind = 'VERIFIED_HOLDERS') AS verified,
            bool_or(r.kind = 'APPROVED_HOLDERS') AS approved,
            min((r.parameters ->> 'units')::numeric) AS units,
            min((r.parameters ->> 'bps')::integer) AS bps,
            min((r.parameters ->> 'holders')::bigint) AS holders
        FROM rules r
    )
    SELECT w.account, b.paused,
        CASE WHEN x.frozen THEN jsonb_build_array(jsonb_strip_nulls(
            jsonb_build_object('code', 'SENDER_FROZEN', 'until', x.frozen_until)))
            ELSE '[]' END,
        (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(f.said) ORDER BY f.place), '[]')
         FROM (VALUES
            (1, x.frozen,
                jsonb_build_object('code', 'RECEIVER_FROZEN', 'until', x.frozen_until)),
            (2, b.verified AND p.is_unverified,
                jsonb_build_object('code', 'RECEIVER_NOT_VERIFIED',
                    'verifiedUntil', p.verified_until)),
            (3, p.is_elsewhere,
                jsonb_build_object('code', 'COUNTRY_NOT_ALLOWED', 'country', p.country)),
            (4, p.is_of_another_class,
                jsonb_build_object('code', 'INVESTOR_CLASS_NOT_ALLOWED')),
            (5, b.approved AND NOT EXISTS (SELECT FROM issuers_approvedholder h
                    WHERE h.token_id = of_token AND h.ledger_account_id = w.account
                        AND h.created_at <= at AND (h.until > at OR h.until IS NULL)
                        AND (h.ended_at IS NULL OR past AND h.ended_at > at)),
                jsonb_build_object('code', 'HOLDER_NOT_APPROVED'))
         ) AS f (place, is_broken, said) WHERE f.is_broken),
        x.locked, x.locked_until, b.units, b.bps, b.holders
    FROM (
        SELECT w.account, a.user_id
        FROM unnest(accounts) AS w (account)
        CROSS JOIN LATERAL (
            SELECT a.user_id FROM issuers_ledgeraccount a
            WHERE a.id = w.account AND a.kind = 'HOLDER' LIMIT 1
        ) a
        UNION ALL SELECT NULL, newcomer WHERE newcomer IS NOT NULL
    ) AS w
    CROSS JOIN bounds b
    CROSS JOIN LATERAL (
        -- As it is; and as it was, where it has changed since the instant.
        SELECT bool_or((i.verification = 'VERIFIED'
                AND (i.verified_until > at OR i.verified_until IS NULL)) IS NOT TRUE)
                AS is_unverified,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'COUNTRIES' AND CASE
                WHEN r.parameters ? 'allowed'
                    THEN (r.parameters -> 'allowed' ? i.country) IS NOT TRUE
                ELSE (r.parameters -> 'refused' ? i.country) IS NOT FALSE END))
                AS is_elsewhere,
            bool_or(EXISTS (SELECT FROM rules r WHERE r.kind = 'INVESTOR_CLASSES'
                AND NOT r.parameters -> 'classes' ? coalesce(i.class, 'RETAIL')))
                AS is_of_another_class,
            min(i.verified_until) AS verified_until, min(i.country) AS country
        FROM (
            SELECT i.verification, i.verified_until, i.tax_country_id::text AS country,
                i.investor_class AS class
            FROM (SELECT) AS one
            LEFT JOIN accounts_investorprofile i ON i.user_id = w.user_id
            WHERE NOT past
            UNION ALL
            SELECT i.verification, i.verified_until, i.tax_country_id, i.investor_class
            FROM (SELECT) AS one
            LEFT JOIN LATERAL (
                SELECT * FROM accounts_investorchange c
                WHERE c.user_id = w.user_id AND c.created_at <= at
                ORDER BY c.number DESC LIMIT 1
            ) i ON TRUE
            WHERE past OR EXISTS (SELECT FROM accounts_investorprofile x
                WHERE x.user_id = w.user_id AND x.updated_at > at)
        ) i
    ) p
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(r.is_whole), FALSE) AS frozen,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE r.is_whole)
                THEN max(r.until) FILTER (WHERE r.is_whole) END AS frozen_until,
            least(coalesce(sum(coalesce(r.units, 18446744073709551615))
                FILTER (WHERE NOT r.is_whole), 0), 18446744073709551615) AS locked,
            CASE WHEN bool_and(r.until IS NOT NULL) FILTER (WHERE NOT r.is_whole)
                THEN max(r.until) FILTER (WHERE NOT r.is_whole) END AS locked_until
        FROM (
            SELECT r.units, r.until, r.kind = 'FREEZE' AND r.units IS NULL AS is_whole
            FROM issuers_restriction r
            WHERE r.ledger_account_id = w.account
                AND (r.token_id IS NULL OR r.token_id = of_token)
                AND (r.until IS NULL OR r.until > at) AND (r.ended_at IS NULL OR r.ended_at > at)
        AND (NOT past OR r.created_at <= at)
        ) r
    ) x;
END $$;
