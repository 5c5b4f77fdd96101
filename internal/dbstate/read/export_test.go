package read

// NotesQuery is looked at for the index that it uses.
const NotesQuery = notesQuery
