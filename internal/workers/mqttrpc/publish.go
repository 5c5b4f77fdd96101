package mqttrpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"surehand/internal/workers"
)

// maxPublishTopic leaves room for the prefix in MQTT's 64 KiB.
const maxPublishTopic = 4096

var _ workers.Publisher = (*Driver)(nil)

// Publish hands one order to the broker. See mqttconn.Connection.Publish for what the results rest on.
func (d *Driver) Publish(ctx context.Context, o workers.Order) workers.Result {
	c := d.liveCommands()
	switch {
	case c == nil:
		return workers.NotSent("link_down")
	case o.QoS != 0 && o.QoS != 1:
		return workers.NotSent(fmt.Sprintf("QoS %d is not used", o.QoS))
	case byte(o.QoS) > c.MaxQoS():
		return workers.NotSent(fmt.Sprintf("the broker takes QoS %d at most", c.MaxQoS()))
	case o.Topic == "" || strings.ContainsAny(o.Topic, "+#\x00") || len(o.Topic) > maxPublishTopic:
		return workers.NotSent("the topic cannot be published to")
	}
	return c.Publish(ctx, func() (*packets.Publish, string) {
		now := d.options.Clock.Now()
		if o.Late(now) {
			return nil, "too late: not_after has passed"
		}
		return d.packet(o, now), ""
	})
}

// packet is the order on the wire: never retained, and worthless at the broker once its deadline is over. The
// order's topic is without the prefix, which only this driver knows.
func (d *Driver) packet(o workers.Order, now time.Time) *packets.Publish {
	left := o.DeadlineAt.Sub(now.Round(0))
	expiry := uint32(max(1, (left+time.Second-1)/time.Second))
	return &packets.Publish{Topic: d.options.Prefix + "/" + o.Topic, Payload: o.Payload, QoS: byte(o.QoS), Properties: &packets.Properties{
		MessageExpiry:   &expiry,
		ContentType:     "application/json",
		ResponseTopic:   d.options.Prefix + "/" + o.Serial + "/" + string(channelResponse),
		CorrelationData: []byte(o.Correlation),
	}}
}
