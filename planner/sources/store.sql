-- nodes seen
SELECT cluster, node, any_value(node_pool) AS node_pool, any_value(machine_type) AS machine_type,
    epoch(created_at) AS created_at, epoch(min(taken_at)) AS first_at, epoch(max(taken_at)) AS last_at,
    coalesce(arg_max(is_going, taken_at), false) AS is_going, coalesce(any_value(zone), '') AS zone
FROM nodes WHERE provisioning IN ('spot', 'preemptible') AND created_at IS NOT NULL
GROUP BY cluster, node, created_at ORDER BY cluster, node, created_at;

-- node events
SELECT DISTINCT cluster, node, told, epoch("at") AS "at" FROM node_events ORDER BY ALL;

-- runs seen
WITH told AS (
    SELECT uid, max(finished_at) AS finished_at, max(taken_at) AS seen_at, max(admitted_at) AS latest_at
    FROM queued_workloads WHERE taken_at <= to_timestamp(?) GROUP BY uid)
SELECT uid, arg_min(series, taken_at) AS series, epoch(one.admitted_at) AS admitted_at, epoch(max(taken_at)) AS last_at,
    epoch(any_value(told.seen_at)) AS seen_at,
    epoch(any_value(CASE WHEN told.latest_at = one.admitted_at THEN told.finished_at END)) AS finished_at
FROM queued_workloads AS one JOIN told USING (uid)
WHERE one.admitted_at IS NOT NULL AND series != '' AND taken_at <= to_timestamp(?)
GROUP BY uid, one.admitted_at ORDER BY uid, one.admitted_at;

-- runs looks
SELECT DISTINCT epoch(taken_at) AS look FROM queued_workloads WHERE taken_at <= to_timestamp(?) ORDER BY look;

-- past durations
SELECT 'start-up' AS activity, workload AS about, pod AS name, epoch(created_at) AS created_at,
    epoch(min(ready_at)) AS ended_at, epoch(min(ready_at)) - epoch(scheduled_at) AS seconds
FROM pods WHERE workload != '' AND created_at IS NOT NULL AND scheduled_at <= ready_at AND restarts = 0
GROUP BY workload, pod, created_at, scheduled_at
UNION ALL
SELECT DISTINCT activity, about, name, epoch(created_at), epoch(ended_at), seconds FROM durations WHERE seconds >= 0
ORDER BY ALL;
