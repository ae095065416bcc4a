-- The count, time and bytes of the operations of a recording by device and kind, by name, by launching range, and by
-- phase, and of the ranges by rank and name.
WITH work AS (
	SELECT start, end, deviceId, globalPid, correlationId, 'compute' AS kind, 0 AS bytes FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT start, end, deviceId, globalPid, correlationId, 'memory', bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT start, end, deviceId, globalPid, correlationId, 'memory', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET
), launched AS (
	SELECT o.*, r.globalTid AS thread, r.start AS launch FROM work o LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
	ON r.correlationId = o.correlationId AND r.globalTid / 0x1000000 = o.globalPid / 0x1000000
)
SELECT 'cuda:' || deviceId || ' ' || kind, count(*), sum(end - start), sum(bytes) FROM work GROUP BY 1
UNION ALL
SELECT 'operation ' || value, count(*), sum(end - start), 0
	FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY 1
UNION ALL
SELECT 'operation Memset (' || label || ')', count(*), sum(end - start), sum(bytes)
	FROM CUPTI_ACTIVITY_KIND_MEMSET JOIN ENUM_CUDA_MEM_KIND e ON e.id = memKind GROUP BY 1
UNION ALL
SELECT 'operation Memcpy ' || CASE copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 8 THEN 'DtoD' END ||
		' (' || s.label || ' -> ' || d.label || ')', count(*), sum(end - start), sum(bytes)
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind GROUP BY 1
UNION ALL
SELECT 'rank ' || (globalTid / 0x1000000 = (SELECT max(globalTid) / 0x1000000 FROM NVTX_EVENTS)) ||
		' range ' || substr(text, 1, instr(text, ',') - 1), count(*), sum(end - start), 0
	FROM NVTX_EVENTS GROUP BY 1
UNION ALL
SELECT 'cuda:' || deviceId || ' by ' || coalesce((SELECT substr(n.text, 1, instr(n.text, ',') - 1) FROM ranges n
		WHERE n.globalTid = thread AND n.start <= launch AND n.end > launch
		ORDER BY n.start DESC, n.end LIMIT 1), ''), count(*), sum(end - start), sum(bytes)
	FROM launched GROUP BY 1
UNION ALL
SELECT 'step unknown, phase ' || CASE WHEN EXISTS (SELECT 1 FROM forwards n
		WHERE n.globalTid = thread AND n.start <= launch AND n.end > launch) THEN 'forward' ELSE '' END,
		count(*), sum(end - start), sum(bytes)
	FROM launched GROUP BY 1
