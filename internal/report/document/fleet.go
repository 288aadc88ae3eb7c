package document

// Fleet is what the rows of many bundles say together.
type Fleet struct {
	Schema  string   `json:"schema"`  // which document this is
	Version string   `json:"version"` // of plegdiag
	Answers []Answer `json:"answers"` // one for each question, in the order of the page
}

// Answer is the answer to one question.
type Answer struct {
	Name  string `json:"name"`  // of the question
	Title string `json:"title"` // of the question
	About string `json:"about"` // what it counts; may be empty
	// Each has the columns of the question as its members; what is not known is null.
	Rows []map[string]any `json:"rows"`
}
