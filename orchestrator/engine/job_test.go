package engine_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/land"
)

// TestDataSurvivesJSON: what goes over a seam can be sent, whatever is in it: no field is lost or
// another one afterwards.
func TestDataSurvivesJSON(t *testing.T) {
	t.Parallel()
	for _, value := range []any{&engine.Job{}, &engine.Work{}, &engine.Progress{}, &land.Stack{}, &land.Judgement{}, &land.Moved{}} {
		v := reflect.ValueOf(value).Elem()
		fill(t, v, v.Type().String())
		text, err := json.Marshal(value)
		require.NoError(t, err)
		again := reflect.New(v.Type())
		require.NoError(t, json.Unmarshal(text, again.Interface()))
		require.Equal(t, value, again.Interface())
	}
}

// fill gives every field a value that is not its zero. It fails for what cannot be data.
func fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path + " \"ä\x01")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path)
	case reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).Tag.Get("json") == "-" {
				continue // says of itself that it is not sent
			}
			fill(t, v.Field(n), path+"."+v.Type().Field(n).Name)
		}
	default:
		require.Fail(t, "no data", "%s is a %s", path, v.Type())
	}
}
