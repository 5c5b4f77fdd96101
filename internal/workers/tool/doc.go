// Package tool drives tools that look at a part while the robot holds it: scanners that speak lines over TCP
// (docs/drivers.md).
//
// It owns the line protocol and the check of what was read. One reading is one connection, so that an answer that comes
// too late cannot be taken for the next part's.
//
// It must never hand on a code that is not one whole line in the plant's format. Reading moves nothing: whatever goes
// wrong, the part is still in the gripper and the scan was not done; it is never in doubt. What found no connection was
// not even tried, and is said when its time to begin is over.
package tool
