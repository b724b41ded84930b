package journal

// Append is AppendAll of one event.
func (j *Journal) Append(event any) (Record, error) {
	recs, err := j.AppendAll(event)
	if err != nil {
		return Record{}, err
	}
	return recs[0], nil
}
