package api_test

import (
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACellIsSetUpAndAnOrderIsHeld goes the way of a person before any machine answers: plant file, order, pallet,
// holds, a report with its question, and the recovery that waits for the machines. proves C-3, C-8, C-19, X-5
func TestACellIsSetUpAndAnOrderIsHeld(t *testing.T) {
	w := running(t)
	file, err := os.ReadFile("../docs/examples/plant.yaml")
	require.NoError(t, err)
	post := func(path, body string, status int) map[string]any {
		t.Helper()
		got, answer := w.ask(http.MethodPost, "/api/v1/"+path, jsonType, body, "")
		require.Equal(t, status, got, "%s: %v", path, answer)
		return answer
	}
	get := func(path string) map[string]any {
		t.Helper()
		got, answer := w.ask(http.MethodGet, "/api/v1/"+path, jsonType, "", "")
		require.Equal(t, http.StatusOK, got, "%s: %v", path, answer)
		return answer
	}
	item := func(list map[string]any, n int) map[string]any {
		t.Helper()
		require.Greater(t, len(list["items"].([]any)), n, list)
		return list["items"].([]any)[n].(map[string]any)
	}

	status, answer := w.ask(http.MethodPost, "/api/v1/plant", "application/yaml", string(file), "")
	require.Equal(t, http.StatusOK, status, answer)
	require.EqualValues(t, 7, answer["changed"], "cell, five equipment, one route")
	require.Equal(t, string(file), get("plant")["file"])
	status, answer = w.ask(http.MethodPost, "/api/v1/plant", "application/yaml", "cell:\n  name: cell-1\n", "")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.EqualValues(t, 2, answer["problems"].([]any)[0].(map[string]any)["line"])

	require.Equal(t, "draft", post("orders", `{"id":"WO-1","route":"housing","quantity":3}`, 200)["state"])
	require.Equal(t, "order_exists", post("orders", `{"id":"WO-1","route":"housing","quantity":3}`, 409)["code"])
	post("orders", `{"route":"none","quantity":3}`, 422)
	require.Equal(t, "ready", post("orders/WO-1/start", ``, 200)["state"])
	answer = post("orders/WO-1/start", ``, 409)
	require.Equal(t, []any{"not_draft", "ready"}, []any{answer["code"], answer["state"]})
	post("orders/WO-1/pallets", `{"pallet":"P7","quantity":2}`, 200)

	cell := get("cell")
	require.Len(t, cell["equipment"], 5)
	require.Len(t, cell["buffer"], 8)
	require.Equal(t, true, cell["dock"].([]any)[1].(map[string]any)["taken"])
	require.Equal(t, "P7", cell["pallets"].([]any)[0].(map[string]any)["id"])

	post("orders/WO-1/pause", `{"reason":"lunch"}`, 200)
	require.Equal(t, "lunch", get("orders/WO-1")["holds"].([]any)[0].(map[string]any)["why"])
	job := item(get("jobs?order=WO-1&state=QUEUED"), 0)
	require.Equal(t, []any{"WO-1.1", "QUEUED", "SUSPENDED", "ON_DOCK", "1"},
		[]any{job["id"], job["state"], job["shownState"], job["positionType"], job["positionRefId"]})

	// A report asks back, and its answer is bound to what was shown.
	question, _ := post("jobs/WO-1.1/report", `{"place":{"type":"OUT"},"reason":"it fell"}`, 200)["id"].(string)
	require.Equal(t, "ERROR", get("jobs/WO-1.1")["shownState"])
	asked := get("manual-actions/" + question)
	answered := "manual-actions/" + url.PathEscape(question) + "/answer"
	answer = post(answered, `{"version":1,"hash":"another","answer":"accept","reason":"seen"}`, 409)
	require.Equal(t, "changed", answer["code"])
	require.Equal(t, asked["hash"], answer["current"].(map[string]any)["hash"])
	post(answered, `{"version":1,"hash":"`+asked["hash"].(string)+`","answer":"accept","reason":"seen"}`, 200)
	job = get("jobs/WO-1.1")
	require.Equal(t, []any{"SCRAPPED", "SCRAPPED", "OUT"}, []any{job["state"], job["shownState"], job["positionType"]})
	require.EqualValues(t, 1, get("orders/WO-1")["scrapped"])

	recovery := get("recovery")
	require.Equal(t, true, recovery["held"], "the machines of a new plant file are compared first")
	require.Equal(t, "comparing", post("recovery/confirm", `{}`, 409)["code"], "no machine has answered yet")
	require.NotEmpty(t, get("orders/WO-1/timeline")["items"])
	require.NotEmpty(t, get("jobs/WO-1.1/timeline")["items"])
	require.Empty(t, get("tasks")["items"])
	require.NotEmpty(t, get("routes")["items"])
	require.NotNil(t, get("alarms?all=true")["items"])
	post("system/stop", `{}`, 200)
	require.NoError(t, <-w.drained)
}
