package main

import "fmt"

func main() { fmt.Println("for the person at the terminal") }
