// Package tool drives tools that work on a part while the robot holds it: scanners and markers that speak lines over TCP
// (docs/drivers.md).
//
// It owns both line protocols, the check of what was read, and what is known of a mark. One request is one connection, so
// that an answer that comes too late cannot be taken for another's. What found no connection was not even tried, and is
// said when its time to begin is over.
//
// It must never hand on a code that is not one whole line in the plant's format. Reading moves nothing: whatever goes
// wrong, the part is still in the gripper and the scan was not done; it is never in doubt.
//
// It must never send MARK twice for a number, and never call a mark done or not done by itself: only the marker's word
// about this number says so. A number in doubt is withdrawn before anything else, so that it can begin no more.
package tool
