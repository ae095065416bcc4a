WITH r AS (SELECT *, globalTid / 0x1000000 p FROM NVTX_EVENTS),
	marked AS (SELECT p, start, end, text, CAST(substr(text, 6) AS INTEGER) number FROM r WHERE text LIKE 'step %'),
	steps AS (SELECT * FROM marked UNION ALL
		SELECT p, start, end, text, row_number() OVER (PARTITION BY p ORDER BY start) - 1 FROM r
		WHERE text = 'batch' AND p NOT IN (SELECT p FROM marked) AND p IN (SELECT p FROM r WHERE text = 'batch'
			GROUP BY p HAVING count(*) >= 4))
SELECT k.start || ' ' ||
	coalesce((SELECT number || ' ' || text FROM steps
		WHERE p = c.globalTid / 0x1000000 AND start <= c.start AND c.start < end), 'none ') || ' ' ||
	coalesce((SELECT trim(text, '# ') FROM r WHERE globalTid = c.globalTid AND start <= c.start AND c.start < end
		AND (text = 'forward' OR text = '## backward ##') ORDER BY start DESC LIMIT 1), '') || ' ' ||
	coalesce((SELECT group_concat(text, '/') FROM (SELECT text FROM r WHERE globalTid = c.globalTid AND start <= c.start
		AND c.start < end AND text NOT LIKE 'step %' ORDER BY start)), '') || ' ' ||
	coalesce((SELECT text FROM r WHERE globalTid = c.globalTid AND start <= c.start AND c.start < end
		ORDER BY start DESC LIMIT 1), '')
	|| ' ' || coalesce((SELECT r.text FROM CUDA_GRAPH_NODE_EVENTS n JOIN r ON r.globalTid = n.globalTid
		AND r.start <= n.start
		AND n.start < r.end WHERE n.graphNodeId = k.graphNodeId - 2 AND p = k.globalPid / 0x1000000
			ORDER BY r.start DESC LIMIT 1), '')
FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME c
	ON c.correlationId = k.correlationId AND c.globalTid / 0x1000000 = k.globalPid / 0x1000000
ORDER BY k.start
