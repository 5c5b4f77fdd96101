package lab

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
	"time"

	"surehand/internal/config"
	"surehand/internal/message"
)

//go:embed devices.yaml
var devicesTemplate string

//go:embed plant.yaml
var plantTemplate string

// CellName is that of the demo's line, as its plant file says.
const CellName = "demo-line"

// House is one greenhouse of the demo: its id begins the ids and serial numbers of its ten devices.
type House struct{ ID, Name string }

// Houses names n greenhouses.
func Houses(n int) []House {
	houses := make([]House, n)
	for i := range houses {
		houses[i] = House{fmt.Sprintf("house-%d", i+1), fmt.Sprintf("Greenhouse %d", i+1)}
	}
	return houses
}

// DeviceFile is the device file of these greenhouses.
func DeviceFile(houses []House) ([]byte, error) {
	return fill("devices.yaml", devicesTemplate, nil, struct{ Houses []House }{houses})
}

// PlantFile is the plant file of the line, for a plant that runs speed times as fast as a real one, with each equipment at
// its address.
func PlantFile(speed float64, address func(id string) string) ([]byte, error) {
	return fill("plant.yaml", plantTemplate, template.FuncMap{
		"address": address,
		"atLeast": func(least, plant string) (string, error) {
			bound, err := time.ParseDuration(least)
			if err != nil {
				return "", err
			}
			d, err := time.ParseDuration(plant)
			return max(bound, time.Duration(float64(d)/speed).Round(time.Millisecond)).String(), err
		},
	}, nil)
}

func fill(name, text string, functions template.FuncMap, data any) ([]byte, error) {
	t, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

func parsePlant(file []byte) (message.ImportPlant, error) {
	plant, problems := config.Plant(file)
	if len(problems) > 0 {
		return plant, fmt.Errorf("plant.yaml, line %d: %s %s", problems[0].Line, problems[0].Pointer, problems[0].Detail)
	}
	return plant, nil
}
