namespace podium::models {}
