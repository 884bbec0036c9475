"""What a fit takes for granted, found from the same rows: delay, mount, and which friction acts."""
